rule energies:
    input:
        chunks=expand(
            "results/map/{arch}-{chunk}.json", arch=ARCHITECTURES, chunk=CHUNKS
        ),
    output:
        parquet="results/energies.parquet",
        csv=report(
            "results/energies.csv",
            caption="../report/energies.rst",
            category="Tables",
            labels={"table": "energies"},
        ),
        timings="results/timings.csv",
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


rule networks:
    input:
        "results/energies.parquet",
    output:
        csv=report(
            "results/networks.csv",
            caption="../report/networks.rst",
            category="Tables",
            labels={"table": "networks"},
        ),
    log:
        "results/logs/networks.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Adding the layers of the networks up"
    script:
        "../scripts/networks.py"
