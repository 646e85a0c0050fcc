# SPDX-License-Identifier: MIT
# A gate as a container image, of a release's wheel and packs: nothing is compiled, and only packages are fetched.
#   docker build --file dist/gate.Dockerfile --tag ledbat-gate dist
FROM debian:bookworm-slim
# URL of a package index, and PEM text of a further certificate authority, for networks that have their own
ARG PYPI_INDEX=
ARG CA_CERTIFICATE=
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN apt-get update -q=2; \
    apt-get install -q=2 --yes --no-install-recommends bubblewrap ca-certificates libstdc++6 python3-venv; \
    rm -rf /var/lib/apt/lists/*; \
    if [ -n "$CA_CERTIFICATE" ]; then \
      echo "$CA_CERTIFICATE" >/usr/local/share/ca-certificates/own.crt; update-ca-certificates; fi; \
    useradd --uid 1000 --create-home runner
USER runner
WORKDIR /home/runner
ENV PATH=/home/runner/testbed/bin:$PATH TESTBED_CACHE=/home/runner/cache
COPY ledbat_testbed-*.whl *.tar.xz release/
RUN python3 -m venv testbed; \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt testbed/bin/pip install --quiet --no-cache-dir \
      ${PYPI_INDEX:+--index-url "$PYPI_INDEX"} release/*.whl; \
    for pack in release/*.tar.xz; do python3 -m images unpack "$pack"; done
ENTRYPOINT ["testbed", "gate"]
