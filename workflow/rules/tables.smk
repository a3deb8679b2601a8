rule energies:
    input:
        expand("results/layers/{sweep}.csv", sweep=SOURCES),
        ALL_TARGET_FILES,
        VARIANT_SOURCES.values(),
        chunks=expand("results/map/{arch}-{chunk}.json", arch=ARCHITECTURES, chunk=PLAN),
        variants=VARIANT_CHUNKS,
    output:
        table("energies"),
        timings="results/timings.csv",
        summary="results/summary.json",
        sources="results/energy_sources.csv",
    log:
        "results/logs/energies.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        store="results/store",
    message:
        "Writing the table of energies"
    script:
        "../scripts/energies.py"


include: "networks.smk"
include: "published.smk"
include: "theory_conv_energy.smk"
