rule theory_ratio:
    input:
        "results/energies.parquet",
    output:
        report(
            "results/theory_ratio.csv",
            caption="../report/theory_ratio.rst",
            category="Tables",
            labels={"table": "theory"},
        ),
    log:
        "results/logs/theory_ratio.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Comparing DRAM words with theory's bounds"
    script:
        "../../analysis/theory_ratio.py"


rule test_growth:
    input:
        list(SOURCES.values()),
        energies="results/energies.parquet",
        theory="results/theory_ratio.csv",
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


rule laws:
    input:
        "results/energies.parquet",
        list(SOURCES.values()),
    output:
        laws=report(
            "results/laws.csv",
            caption="../report/laws.rst",
            category="Tables",
            labels={"table": "laws"},
        ),
        points="results/law_points.csv",
        terms="results/law_terms.csv",
    log:
        "results/logs/laws.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Deriving the law behind every point"
    script:
        "../../analysis/laws.py"
