rule report_html:
    input:
        "results/energies.parquet",
        "results/energies.csv",
        "results/fits.csv",
        "results/verdicts.csv",
        "results/residuals.csv",
        "results/left_out.csv",
        "results/verdicts.txt",
        "results/timings.csv",
        "results/theory_ratio.csv",
        "results/laws.csv",
        "results/law_points.csv",
        SEARCH_NOISE,
        [path for path in PUBLISHED_FILES if path.endswith(".csv")],
        "results/summary.json",
        NETWORK_FILES,
        list(SOURCES.values()),
    output:
        "results/report.html",
    log:
        "results/logs/report_html.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=STUDY.config.statistics.model_dump(),
        # Only what this rule waits for: what an earlier run has left is no part of the page.
        optional=lambda wildcards, input: [Path(path).name for path in input],
    message:
        "Writing the HTML report"
    script:
        "../../analysis/report_html.py"
