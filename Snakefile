from snakemake.utils import min_version

min_version("9.5")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"


onstart:
    begin()


onsuccess:
    end()


onerror:
    end()


localrules:
    all,
    energies_only,


rule all:
    input:
        "results/energies.parquet",
        "results/fits.csv",
        "results/verdicts.csv",
        FIGURES,
        NETWORK_FILES,
        SPECS,


rule energies_only:
    input:
        "results/energies.parquet",


include: "workflow/rules/specs.smk"
include: "workflow/rules/map.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/theory.smk"
