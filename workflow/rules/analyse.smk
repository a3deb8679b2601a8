rule test_growth:
    input:
        "results/energies.parquet",
        list(SOURCES.values()),
    output:
        fits=report(
            "results/fits.csv",
            caption="../report/fits.rst",
            category="Tables",
            labels={"table": "fits"},
        ),
        verdicts=report(
            "results/verdicts.csv",
            caption="../report/verdicts.rst",
            category="Tables",
            labels={"table": "verdicts"},
        ),
        residuals="results/residuals.csv",
        left_out="results/left_out.csv",
        words="results/verdicts.txt",
    log:
        "results/logs/test_growth.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=STUDY.config.statistics.model_dump(),
    message:
        "Testing the growth of every sweep"
    script:
        "../../analysis/test_growth.py"
