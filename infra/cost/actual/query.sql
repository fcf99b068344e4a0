-- What one project was billed, by stack, service, SKU, GKE cluster and namespace, kind of cost and currency. BigQuery standard SQL.
--
-- Parameters:
--   @project        STRING  project id; rows of no project are the billing account's, and in no project's sum
--   @invoice_month  STRING  YYYYMM: all that stands on that invoice; empty: all that was used from @first_day to @last_day
--   @first_day      DATE    by Pacific time, as Google bills; with @invoice_month the first day of that month
--   @last_day       DATE    included; with @invoice_month the last day of that month
--
-- A row without the label accelform-stack has the stack NULL: it is shown, never dropped.
-- Amounts are FLOAT64 in the export. Each is made NUMERIC before it is added, so that sums are exact to 1e-9.
-- Usage is exported some time after it began, and late rows may stand on a later invoice:
--   `earlier`  cost of usage that began before @first_day
--   `late`     cost that was exported after @last_day was over
WITH billed AS (
  SELECT
    (SELECT MAX(label.value) FROM UNNEST(labels) AS label WHERE label.key = 'accelform-stack') AS stack,
    (SELECT MAX(label.value) FROM UNNEST(labels) AS label WHERE label.key = 'goog-k8s-cluster-name') AS cluster,
    (SELECT MAX(label.value) FROM UNNEST(labels) AS label WHERE label.key = 'k8s-namespace') AS namespace,
    service.description AS service,
    sku.id AS sku_id,
    sku.description AS sku,
    cost_type,
    currency,
    CAST(cost AS NUMERIC) AS cost,
    CAST(SAFE_DIVIDE(cost, IF(currency = 'USD', 1.0, currency_conversion_rate)) AS NUMERIC) AS usd,
    COALESCE((SELECT SUM(CAST(credit.amount AS NUMERIC)) FROM UNNEST(credits) AS credit), CAST(0 AS NUMERIC)) AS credits,
    DATE(usage_start_time, 'America/Los_Angeles') AS used_on,
    DATE(export_time, 'America/Los_Angeles') AS exported_on
  FROM `BILLING_TABLE`
  WHERE
    project.id = @project
    AND IF(
      @invoice_month = '',
      DATE(usage_start_time, 'America/Los_Angeles') BETWEEN @first_day AND @last_day,
      invoice.month = @invoice_month
    )
)
SELECT
  stack,
  service,
  sku_id,
  sku,
  cluster,
  namespace,
  cost_type,
  currency,
  SUM(cost) AS cost,
  SUM(credits) AS credits,
  SUM(usd) AS usd,
  COUNTIF(usd IS NULL) AS without_rate,
  SUM(IF(used_on < @first_day, cost, CAST(0 AS NUMERIC))) AS earlier,
  SUM(IF(exported_on > @last_day, cost, CAST(0 AS NUMERIC))) AS late,
  MAX(exported_on) AS last_export
FROM billed
GROUP BY stack, service, sku_id, sku, cluster, namespace, cost_type, currency
ORDER BY stack, service, sku_id, sku, cluster, namespace, cost_type, currency
