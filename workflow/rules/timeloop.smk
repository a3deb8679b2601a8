# What Timeloop's container does (snakemake --sdm apptainer): the image has no Python that jouleloop runs on, so inputs are
# written before, a shell script runs Timeloop inside, and outputs are read after.


rule request_timeloop:
    input:
        lambda wildcards: ancient(PLAN.request_sources(wildcards.arch)),
        lambda wildcards: PLAN.request_needs(wildcards.arch, wildcards.chunk),
    output:
        "results/timeloop/{arch}-{chunk}.requests",
    log:
        "results/logs/request_timeloop/{arch}-{chunk}.log",
    conda:
        "../envs/jouleloop.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=240,
    params:
        options=lambda wildcards: PLAN.chunk_options(wildcards.arch, wildcards.chunk),
        layers="results/chunks/{chunk}.txt",
        store="results/store",
    message:
        "Writing Timeloop's inputs for chunk {wildcards.chunk} on {wildcards.arch}"
    script:
        "../scripts/request_timeloop.py"


rule run_timeloop:
    input:
        "results/timeloop/{arch}-{chunk}.requests",
    output:
        touch("results/timeloop/{arch}-{chunk}.done"),
    log:
        "results/logs/run_timeloop/{arch}-{chunk}.log",
    benchmark:
        "results/logs/run_timeloop/{arch}-{chunk}.benchmark.tsv"
    container:
        PLAN.config.timeloop.container
    threads: PLAN.config.timeloop.threads
    resources:
        mem_mb=2000,
        runtime=1440,
    params:
        runs=TIMELOOP_RUNS,
        script=workflow.source_path("../scripts/run_timeloop.sh"),
    message:
        "Running Timeloop in its container for chunk {wildcards.chunk} on {wildcards.arch}"
    shell:
        "sh {params.script} {params.runs} {input} 2> {log}"
