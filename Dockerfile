# MODAK's service. docker-compose.yml runs it with PostgreSQL and a reverse proxy in front.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/
RUN python -m venv /opt/modak && /opt/modak/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY modak modak
COPY alembic alembic
COPY benchmarks_db benchmarks_db
RUN /opt/modak/bin/pip install --no-cache-dir --no-build-isolation --no-deps .

FROM python:3.11-slim
COPY --from=build /opt/modak /opt/modak
RUN useradd --system --create-home modak
USER modak
WORKDIR /home/modak
ENV PATH=/opt/modak/bin:$PATH PYTHONDONTWRITEBYTECODE=1
EXPOSE 8000
CMD ["modak", "serve", "--host", "0.0.0.0", "--port", "8000"]
