rule theory_ratio:
    input:
        "results/energies.parquet",
    output:
        table("theory_ratio", title="theory"),
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
        theory="results/theory_ratio.parquet",
    output:
        table("fits"),
        table("verdicts"),
        multiext("results/residuals", ".parquet", ".csv"),
        multiext("results/left_out", ".parquet", ".csv"),
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
        table("laws"),
        multiext("results/law_points", ".parquet", ".csv"),
        multiext("results/law_terms", ".parquet", ".csv"),
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
        table("search_noise"),
        multiext("results/search_noise_energies", ".parquet", ".csv"),
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
