# Architectures and layers as Timeloop reads them.


rule specifications:
    input:
        # What they say is in the parameters, by content: no edit that leaves it as it is starts a job.
        lambda wildcards: ancient(PLAN.target_files(wildcards.arch)),
    output:
        "results/specs/{arch}.yaml",
    log:
        "results/logs/specifications/{arch}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        options=lambda wildcards: PLAN.parameters[wildcards.arch],
    message:
        "Writing {wildcards.arch} and its energies as Timeloop reads them"
    script:
        "../scripts/specifications.py"


# A complete input of Timeloop for every layer: `snakemake timeloop`, or `outputs: {specs: true}`.
rule timeloop_inputs:
    input:
        lambda wildcards: PLAN.target_files(wildcards.arch),
        sweep=lambda wildcards: PLAN.sources[wildcards.sweep],
    output:
        directory("results/specs/{arch}/{sweep}"),
    log:
        "results/logs/timeloop_inputs/{arch}-{sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Writing Timeloop inputs of {wildcards.sweep} on {wildcards.arch}"
    script:
        "../scripts/timeloop_inputs.py"


localrules:
    timeloop,


rule timeloop:
    input:
        PLAN.timeloop_inputs,
