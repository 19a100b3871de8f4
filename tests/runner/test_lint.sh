# SPDX-License-Identifier: Apache-2.0
# The house rules hold (scripts/lint prints TAP itself).
exec "$ROOT/scripts/lint"
