import ast
from pathlib import Path

import analysis


def test_the_analysis_stands_alone() -> None:
    """It must work on run folders from elsewhere, so it imports no other package of the project."""
    root = Path(analysis.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            others = {"engine", "topologies", "images", "workflows", "tests"}
            assert not others & {name.partition(".")[0] for name in names}, path
