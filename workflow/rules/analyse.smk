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


# Part of the run where `outputs: {search_noise: true}` asks for it, since it searches every layer a second time.
rule search_noise:
    input:
        "results/energies.parquet",
        list(SOURCES.values()),
    output:
        verdicts=report(
            "results/search_noise.csv",
            caption="../report/search_noise.rst",
            category="Tables",
            labels={"table": "search noise"},
        ),
        energies="results/search_noise_energies.csv",
    log:
        "results/logs/search_noise.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        store="results/store",
        statistics=STUDY.config.statistics.model_dump(),
    message:
        "Comparing verdicts on proven optima with those of a search within 0.1 %"
    script:
        "../../analysis/search_noise.py"
