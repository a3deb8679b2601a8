rule theory_ratio:
    input:
        "results/energies.parquet",
    output:
        table("theory_ratio", title="theory"),
        table("buffer_growth", title="linear growth by buffer"),
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
        PLAN.sources.values(),
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
        statistics=PLAN.statistics,
    message:
        "Testing the growth of every sweep"
    script:
        "../../analysis/test_growth.py"


rule laws:
    input:
        "results/energies.parquet",
        PLAN.sources.values(),
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
        PLAN.sources.values(),
    output:
        table("search_noise"),
        multiext("results/search_noise_energies", ".parquet", ".csv"),
    log:
        "results/logs/search_noise.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        store="results/store",
        statistics=PLAN.statistics,
    message:
        "Comparing verdicts on proven optima with those of a search within 0.1 %"
    script:
        "../../analysis/search_noise.py"


rule architecture_sweep:
    input:
        "results/energies.parquet",
        lambda wildcards: PLAN.variant_sources[wildcards.variant_sweep],
    output:
        table("architecture/{variant_sweep}", "{variant_sweep}", "architecture"),
    log:
        "results/logs/architecture_sweep/{variant_sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Comparing the variants of {wildcards.variant_sweep}"
    script:
        "../../analysis/architecture_sweep.py"


rule networks:
    input:
        "results/energies.parquet",
    output:
        table("networks"),
    log:
        "results/logs/networks.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Adding the layers of the networks up"
    script:
        "../../analysis/networks.py"


rule published:
    input:
        PLAN.published_files,
    output:
        table("published"),
        table("published_summary", "published, counted", "published"),
    log:
        "results/logs/published.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Joining the comparisons with published energies"
    script:
        "../../analysis/published.py"


# Measured convolutions beside the theory of their energy (the model that paper 002 builds on).
rule theory_conv_energy:
    input:
        "results/energies.parquet",
        PLAN.sources.values(),
    output:
        table("theory_conv_energy", "convolutions and theory"),
    log:
        "results/logs/theory_conv_energy.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Putting theory beside the measured convolutions"
    script:
        "../../analysis/theory_conv_energy.py"
