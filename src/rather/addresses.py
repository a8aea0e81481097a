"""The addresses of the project, for warnings, help texts, the site and pyproject.toml."""

REPOSITORY = "https://github.com/rather-ranking/rather"
ISSUES = REPOSITORY + "/issues"
SITE = "https://rather-ranking.github.io/rather"
MESSAGES = SITE + "/reference/errors-and-warnings.html"
CHANGELOG = SITE + "/project/changelog.html"
REPORT_A_HOLE = REPOSITORY + "/security/advisories/new"
