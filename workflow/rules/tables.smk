rule energies:
    input:
        chunks=expand(
            "results/map/{arch}-{chunk}.json", arch=ARCHITECTURES, chunk=CHUNKS
        ),
        variants=VARIANT_CHUNKS,
        variant_sweeps=VARIANT_SOURCES.values(),
    output:
        parquet="results/energies.parquet",
        csv=report(
            "results/energies.csv",
            caption="../report/energies.rst",
            category="Tables",
            labels={"table": "energies"},
        ),
        timings="results/timings.csv",
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
