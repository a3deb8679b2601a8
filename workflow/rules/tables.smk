# Tables: the energies that the search found, and what follows from them. Each table is made by its own rule.


# With a cluster, all that follows from the search is one job there; on one machine each rule has its own process.
rule energies:
    input:
        *SOURCES,
        chunks=PLAN.chunk_files + PLAN.variant_files,
    output:
        table("energies"),
        multiext("results/", "timings.csv", "summary.json", "energy_sources.csv"),
        expand("results/layers/{sweep}.csv", sweep=PLAN.sources),
    log:
        "results/logs/energies.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    params:
        sources=PLAN.source_digests,
    message:
        "Collecting the energies of all layers"
    script:
        "../scripts/energies.py"


rule theory_ratio:
    input:
        "results/energies.parquet",
    output:
        tables(THEORY_RATIO, BUFFER_GROWTH),
    log:
        "results/logs/theory_ratio.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=PLAN.statistics,
    message:
        "Comparing DRAM words with the bounds of theory"
    script:
        "../../analysis/derive.py"


rule growth:
    input:
        "results/energies.parquet",
        "results/theory_ratio.parquet",
    output:
        tables(FITS, VERDICTS, RESIDUALS, LEFT_OUT),
        "results/verdicts.txt",
    log:
        "results/logs/growth.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=PLAN.statistics,
    message:
        "Testing growth"
    script:
        "../../analysis/derive.py"


rule laws:
    input:
        "results/energies.parquet",
    output:
        tables(LAWS, LAW_POINTS, LAW_TERMS),
    log:
        "results/logs/laws.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Deriving laws"
    script:
        "../../analysis/derive.py"


rule theory_conv_energy:
    input:
        "results/energies.parquet",
    output:
        tables(THEORY_CONV_ENERGY),
    log:
        "results/logs/theory_conv_energy.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Comparing convolutions with the theory of their energy"
    script:
        "../../analysis/derive.py"


rule networks:
    input:
        "results/energies.parquet",
    output:
        tables(NETWORKS),
    log:
        "results/logs/networks.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Adding up the layers of networks"
    script:
        "../../analysis/derive.py"


rule variants:
    input:
        "results/energies.parquet",
    output:
        [
            table(f"architecture/{name}", name, "architecture")
            for name in PLAN.variant_sources
        ],
    log:
        "results/logs/variants.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Comparing variants of architectures"
    script:
        "../../analysis/derive.py"


# Part of the run where `outputs: {search_noise: true}` asks for it, since it searches every layer a second time.
rule search_noise:
    input:
        *SOURCES,
        PLAN.chunk_files,
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


# The page of the run: all its tables, with charts of its own.
rule report_page:
    input:
        PLAN.page_inputs,
    output:
        "results/report.html",
    log:
        "results/logs/report_page.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    params:
        shown=PLAN.shown,
        statistics=PLAN.statistics,
    message:
        "Writing the page of the run"
    script:
        "../../analysis/report_page.py"
