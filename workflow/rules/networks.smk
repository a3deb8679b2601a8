# Whole networks: the table of their layers and totals, and a stacked figure of each.


rule networks:
    input:
        "results/energies.parquet",
    output:
        table("networks"),
    log:
        "results/logs/networks.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Adding the layers of the networks up"
    script:
        "../scripts/networks.py"


rule network_figures:
    input:
        "results/networks.parquet",
    output:
        report(
            expand(
                "results/figures/networks/{{network}}_{arch}.{format}",
                arch=ARCHITECTURES,
                format=FORMATS,
            ),
            caption="../report/network.rst",
            category="Figures",
            subcategory="networks",
        ),
    log:
        "results/logs/network_figures/{network}.log",
    wildcard_constraints:
        network="|".join(NETWORKS),
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Drawing the layers of {wildcards.network}"
    script:
        "../../analysis/network_figures.py"
