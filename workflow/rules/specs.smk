rule list_layers:
    input:
        SOURCES.values(),
    output:
        expand("results/layers/{sweep}.csv", sweep=SOURCES),
    log:
        "results/logs/list_layers.log",
    # First of all: it finds mistakes that only the statistics can see.
    priority: 1
    conda:
        "../envs/jouleloop.yaml"
    params:
        sources=SOURCE_DIGESTS,
    message:
        "Listing the layers of all sweeps"
    script:
        "../scripts/list_layers.py"


rule write_specs:
    input:
        target_files,
        sweep=lambda wildcards: SOURCES[wildcards.sweep],
    output:
        directory("results/specs/{arch}/{sweep}"),
    log:
        "results/logs/write_specs/{arch}-{sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Writing Timeloop inputs of {wildcards.sweep} on {wildcards.arch}"
    script:
        "../scripts/write_specs.py"
