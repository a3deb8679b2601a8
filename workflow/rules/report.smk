rule report_html:
    input:
        "results/energies.csv",
        PLAN.reported_files,
        ["results/verdicts.txt"] if PLAN.study.tested else [],
        "results/summary.json",
        PLAN.sources.values(),
    output:
        "results/report.html",
    log:
        "results/logs/report_html.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=PLAN.statistics,
        # Only what this rule waits for: what an earlier run has left is no part of the page.
        optional=lambda wildcards, input: [
            Path(path).name.removesuffix(".parquet") for path in input
        ],
    message:
        "Writing the HTML report"
    script:
        "../../analysis/report_html.py"
