# Sweeps of chains: a job searches the chains of one sweep on one architecture, and leaves results in the store.


rule chain_sweep:
    input:
        lambda wildcards: ancient(PLAN.target_files(wildcards.arch)),
        # What it says is in the parameters, by content.
        lambda wildcards: ancient(PLAN.chain_sources[wildcards.chain]),
    output:
        multiext("results/chains/{chain}/{arch}", ".parquet", ".csv", ".json"),
        note="results/map/chains/{arch}-{chain}.json",
    log:
        "results/logs/chain_sweep/{arch}-{chain}.log",
    benchmark:
        "results/logs/chain_sweep/{arch}-{chain}.benchmark.tsv"
    conda:
        "../envs/jouleloop.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=1440,
    params:
        options=lambda wildcards: PLAN.chain_options(wildcards.chain, wildcards.arch),
        store="results/store",
    message:
        "Searching the chains of {wildcards.chain} on {wildcards.arch}"
    script:
        "../scripts/chain_sweep.py"


rule chains:
    input:
        PLAN.chain_files,
    output:
        tables(CHAINS, CHAIN_GROWTH),
        "results/chains.html",
        expand(
            "results/figures/{chain}/chains_{chain}.{ending}",
            chain=PLAN.chain_sources,
            ending=PLAN.formats,
            allow_missing=True,
        ),
    log:
        "results/logs/chains.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=PLAN.statistics,
    message:
        "Testing the growth of fused chains"
    script:
        "../../analysis/chains.py"
