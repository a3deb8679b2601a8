localrules:
    cross_check,


rule cross_check:
    input:
        PLAN.crosscheck,


rule confirm_chunk:
    input:
        "results/map/{arch}-{chunk}.json",
        lambda wildcards: PLAN.timeloop_runs(wildcards.arch, wildcards.chunk),
    output:
        "results/confirm/{arch}-{chunk}.json",
    log:
        "results/logs/confirm_chunk/{arch}-{chunk}.log",
    benchmark:
        "results/logs/confirm_chunk/{arch}-{chunk}.benchmark.tsv"
    conda:
        "../envs/timeloop.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=240,
    params:
        options=lambda wildcards: checked(
            lambda: PLAN.confirm_options(wildcards.arch, wildcards.chunk)
        ),
        layers="results/chunks/{chunk}.txt",
        store="results/store",
    message:
        "Evaluating the optima of chunk {wildcards.chunk} on {wildcards.arch} with Timeloop"
    script:
        "../scripts/confirm_chunk.py"


rule crosscheck:
    input:
        chunks=PLAN.confirm_files,
    output:
        table("crosscheck", title="cross-check with Timeloop, points"),
        table("crosscheck_summary", "cross-check with Timeloop, fields", "crosscheck"),
        page=report(
            "results/crosscheck.html",
            caption="../report/crosscheck.rst",
            category="Tables",
            labels={"table": "cross-check with Timeloop, page"},
        ),
    log:
        "results/logs/crosscheck.log",
    conda:
        "../envs/timeloop.yaml"
    params:
        store="results/store",
    message:
        "Comparing the native engine with Timeloop"
    script:
        "../scripts/crosscheck.py"
