"""Facts are asserted outside of test files: pytest is told to explain those assertions too."""

import pytest

pytest.register_assert_rewrite(
    *(f"tests.parameters.of_{what}" for what in ("estimators", "topics", "mixtures", "components"))
)
