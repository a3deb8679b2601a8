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
        GROWTH_FILES,
        FIGURES,
        SEARCH_NOISE,
        ARCHITECTURE_FILES,
        NETWORK_FILES,
        PUBLISHED_FILES,
        CONV_FILES,
        SPECS,
        CROSSCHECK if STUDY.config.confirm else [],
    message:
        "Everything is in results/"


rule energies_only:
    input:
        "results/energies.parquet",


include: "workflow/rules/specs.smk"
include: "workflow/rules/timeloop.smk"
include: "workflow/rules/map.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/crosscheck.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/architecture.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/further_figures.smk"
include: "workflow/rules/theory.smk"
