# The program `outbox` and nothing else that listens, on a small Debian, as a user without rights.
FROM rust:1.95-bookworm AS builder
WORKDIR /src
COPY . .
# The commit that a build between two releases names in its version: the repository itself is not copied.
ARG OUTBOX_COMMIT=""
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --package outbox-cli --bin outbox \
    && cp target/release/outbox /outbox

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 outbox \
    && useradd --uid 10001 --gid outbox --home-dir /var/lib/outbox --create-home --skel /dev/null --shell /usr/sbin/nologin outbox
COPY --from=builder /outbox /usr/local/bin/outbox
COPY LICENSE /usr/share/doc/outbox/LICENSE
# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
# outbox.toml is read from here, and outbox.db is kept here where no other database is configured.
WORKDIR /var/lib/outbox
EXPOSE 8640
# Asks /healthz of the listener that the settings name.
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s CMD ["outbox", "health"]
# The program handles SIGTERM itself, also as process 1: it drains and ends. Docker has to be told which signal stops: else it takes
# every one that a person sends, the SIGHUP of a reload too, for the wish that the container stay down.
STOPSIGNAL SIGTERM
ENTRYPOINT ["outbox"]
CMD ["run"]
