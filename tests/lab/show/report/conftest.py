from __future__ import annotations

import os
import shutil

import pytest

FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A headless Chromium, one for all tests of a process."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no chromium and chromedriver (Debian: chromium, chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    flags = [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]
    if os.geteuid() == 0:  # Chromium's sandbox refuses root.
        flags.append("--no-sandbox")
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()
