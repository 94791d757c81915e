#!/bin/sh
# demo.sh - the shop's story, one command at a time, on a freshly made shop.
# `make demo` runs it; every line after a $ can be typed by hand.
set -eu
cd "$(dirname "$0")/.."
lrun=${LRUN_BIN:-build/lrun}

title() { printf '\n== %s\n' "$*"; }
say() { printf '   %s\n' "$*"; }
run() { printf '\n$ %s\n' "$*"; "$@"; }
lrun() { printf '\n$ %s\n' "$lrun $*"; "$lrun" "$@"; }
lrun_fails() { lrun "$@" 2>&1 && exit 1 || printf '(exit status %s)\n' $?; }
sql() { # sql FILE STATEMENT
    printf '\n$ sqlite3 examples/%s "%s"\n' "$1" "$2"
    sqlite3 -batch -header -column -nullvalue NULL "examples/$1" "$2"
}
fresh() { run make -s --no-print-directory shop; }
on_the_21st() {
    say 'The evening of 2026-01-21: order 105 is not paid.'
    fresh
    sql source.db "UPDATE orders SET amount = NULL, updated_at = '2026-01-20' WHERE order_id = 105"
}
orders="SELECT order_id, order_date, amount, updated_at FROM"
totals() {
    sql source.db    "SELECT count(*) AS orders, printf('%.2f', sum(amount)) AS total FROM orders"
    sql warehouse.db "SELECT count(*) AS orders, printf('%.2f', sum(amount)) AS total FROM dw_orders"
}

title '1. A full load'
on_the_21st
sql warehouse.db 'DELETE FROM dw_orders WHERE order_id > 104'
sql source.db "$orders orders"
sql warehouse.db "$orders dw_orders"
lrun jobs/orders_full.lua --run-start 2026-01-22
sql warehouse.db "$orders dw_orders"
say 'Right, and simple; six rows were read because one was new.'

title '2. New orders by created date: a payment goes missing'
say 'On 2026-01-25 order 105 is paid.'
sql source.db "UPDATE orders SET amount = 22.00, updated_at = '2026-01-25' WHERE order_id = 105"
say 'That night loads the orders that were placed on the 25th, and their check agrees.'
lrun jobs/orders.lua --logical-date 2026-01-25
totals
say 'The warehouse is 22.00 short, and no run has failed.'

title '3. What changed, every night, with a lookback of two days'
say 'The payment will be stamped 01-25 and arrive on the 26th at ten.'
on_the_21st
say 'The night to the 25th leaves its mark:'
lrun jobs/orders_incremental.lua --run-start 2026-01-25
say 'Midnight of the 26th: nothing yet.'
lrun jobs/orders_incremental.lua --run-start 2026-01-26
say 'Ten in the morning:'
sql source.db "UPDATE orders SET amount = 22.00, updated_at = '2026-01-25' WHERE order_id = 105"
say 'The 27th reads from the 24th on and finds it; the 28th reads it again and'
say 'changes nothing; on the 29th it is behind the window.'
lrun jobs/orders_incremental.lua --run-start 2026-01-27
sql warehouse.db "$orders dw_orders WHERE order_id = 105"
lrun jobs/orders_incremental.lua --run-start 2026-01-28
lrun jobs/orders_incremental.lua --run-start 2026-01-29
totals
lrun watermark jobs/orders_incremental.lua

title '4. A past day, run again'
fresh
sql warehouse.db "$orders dw_orders WHERE order_date >= '2026-01-19' AND order_date < '2026-01-22'"
say 'What would be done:'
lrun plan jobs/orders.lua --logical-date 2026-01-20
say 'Do it:'
lrun jobs/orders.lua --logical-date 2026-01-20
sql warehouse.db "$orders dw_orders WHERE order_date >= '2026-01-19' AND order_date < '2026-01-22'"
say 'A second time, the same rows:'
lrun jobs/orders.lua --logical-date 2026-01-20
totals

title '5. Three past days that check themselves'
fresh
say 'A trigger loses what is written for the 20th:'
sql warehouse.db "CREATE TRIGGER lose BEFORE INSERT ON dw_orders WHEN NEW.order_date = '2026-01-20'
  BEGIN SELECT RAISE(IGNORE); END"
lrun_fails backfill jobs/orders.lua --from 2026-01-19 --to 2026-01-21
say 'The 20th is as it was before, and the ledger knows what is left:'
sql warehouse.db "$orders dw_orders WHERE order_date >= '2026-01-19' AND order_date < '2026-01-22'"
lrun status jobs/orders.lua
say 'Without the trigger the same command goes on:'
sql warehouse.db 'DROP TRIGGER lose'
lrun backfill jobs/orders.lua --from 2026-01-19 --to 2026-01-21
totals
say 'And a third time there is nothing to do:'
lrun backfill jobs/orders.lua --from 2026-01-19 --to 2026-01-21

title '6. A high water mark, and the row that landed below it'
sql source.db 'SELECT * FROM transfers'
sql warehouse.db 'SELECT * FROM dw_transfers'
lrun jobs/high_water_mark.lua --run-start 2026-03-04
sql warehouse.db 'SELECT * FROM dw_transfers'
lrun watermark jobs/high_water_mark.lua
say 'Run again, it changes nothing:'
lrun jobs/high_water_mark.lua --run-start 2026-03-04
sql warehouse.db 'SELECT * FROM dw_transfers'

title '7. Revenue by the country of that day'
say "By today's customers (wrong: order 101 was placed from IN):"
sql source.db "SELECT country, printf('%.2f', sum(amount)) AS revenue
  FROM orders JOIN customers USING (customer_id)
  WHERE order_date >= '2026-01-03' AND order_date < '2026-01-11' GROUP BY country"
lrun backfill jobs/revenue_by_country.lua --from 2026-01-03 --to 2026-01-10
say 'By the country each customer lived in on that day:'
sql warehouse.db "SELECT country, printf('%.2f', sum(revenue)) AS revenue
  FROM dw_revenue_by_country GROUP BY country"

title '8. A dimension, built night after night'
fresh
sql warehouse.db 'DROP TABLE dim_customer'
sql source.db "UPDATE customers SET country = 'IN' WHERE customer_id = 1"
lrun jobs/dim_customer.lua --logical-date 2026-01-07 --run-start 2026-01-08
sql source.db "UPDATE customers SET country = 'DE' WHERE customer_id = 1"
lrun jobs/dim_customer.lua --logical-date 2026-01-08 --run-start 2026-01-09
sql warehouse.db 'SELECT * FROM dim_customer ORDER BY customer_id, valid_from'

title 'What the ledger wrote down'
lrun status
lrun runs --last 5

title 'The shop is put back as it was made'
fresh
say 'Try it yourself:'
say "  $lrun jobs/orders.lua --logical-date 2026-01-20"
say "  $lrun repl jobs/orders.lua"
