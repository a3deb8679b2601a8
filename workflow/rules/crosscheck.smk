localrules:
    cross_check,


rule cross_check:
    input:
        CROSSCHECK,


rule confirm_chunk:
    input:
        "results/map/{arch}-{chunk}.json",
        timeloop_runs,
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
        options=confirm_options,
        layers="results/chunks/{chunk}.txt",
        store="results/store",
    message:
        "Evaluating the optima of chunk {wildcards.chunk} on {wildcards.arch} with Timeloop"
    script:
        "../scripts/confirm_chunk.py"


rule crosscheck:
    input:
        chunks=expand(
            "results/confirm/{arch}-{chunk}.json", arch=ARCHITECTURES, chunk=CHUNKS
        ),
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
