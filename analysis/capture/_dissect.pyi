from typing_extensions import Buffer

def fill(
    data: Buffer, offset: int, swapped: bool, ticks: int, columns: tuple[Buffer, ...], /
) -> tuple[int, int, int]: ...
