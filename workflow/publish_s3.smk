# Results on S3-compatible storage: the workflow as it is, and a copy of its tables in a bucket (how-to: docs/clusters.md).
import os


envvars:
    "JOULELOOP_BUCKET",


include: "../Snakefile"


PUBLISHED_TABLES = ["energies.parquet", "energies.csv", "timings.csv"]
BUCKET = os.environ["JOULELOOP_BUCKET"]


storage s3:
    provider="s3",


localrules:
    publish,


rule publish:
    default_target: True
    input:
        expand("results/{table}", table=PUBLISHED_TABLES),
    output:
        [storage.s3(f"{BUCKET}/{table}") for table in PUBLISHED_TABLES],
    log:
        "results/logs/publish.log",
    message:
        "Copying the tables to the bucket"
    run:
        for source, target in zip(input, output):
            shell("cp {source} {target} 2>> {log}")
