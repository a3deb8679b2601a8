"""Compare the native engine with Timeloop point by point: two tables and a page."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.files import write_text
from jouleloop.report.crosscheck_page import crosscheck_page
from jouleloop.study.runlog import logged
from jouleloop.study.store import ResultStore
from jouleloop.tables.crosscheck import write_crosscheck

with logged(snakemake.log[0], snakemake.output):
    page = Path(snakemake.output.page)
    store = ResultStore(Path(snakemake.params.store))
    write_text(page, crosscheck_page(*write_crosscheck(load_study(snakemake.config), store, page.parent)))
