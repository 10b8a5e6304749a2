# frozen_string_literal: true

require_relative "config/environment"

hook = ENV.fetch("TARGET")

# docs: begin placed
Order.transaction do
  order = Order.create!(id: 1, customer: "Jürgen 李 🎉")
  OutboxMessage.create!(
    channel: "hooks",
    target: hook,
    idempotency_key: "order-#{order.id}-placed",
    payload: { order: order.id, customer: order.customer, units: 9_007_199_254_740_991, total: "12345678901234567890.12" }
  )
end
# docs: end placed

begin
  Order.transaction do
    Order.create!(id: 2, customer: "Ada")
    OutboxMessage.create!(channel: "hooks", target: hook, idempotency_key: "order-2-placed", payload: { order: 2 })
    raise "the card was declined"
  end
rescue RuntimeError
  # Neither the order nor its message is there.
end

Order.transaction do
  Order.create!(id: 3, customer: "Grace")
  OutboxMessage.enqueue(target: hook, idempotency_key: "order-1-placed", payload: { order: 1 })
end

# docs: begin later
Order.transaction do
  order = Order.create!(id: 4, customer: "Edsger")
  OutboxMessage.enqueue_later(5.seconds, target: hook, idempotency_key: "order-#{order.id}-reminder", payload: { order: order.id })
end
# docs: end later

Order.transaction do
  order = Order.create!(id: 5, customer: "Barbara")
  OutboxMessage.create!(
    channel: "hooks", target: hook, payload: { order: order.id }, ordering_key: "customer-7", headers: { "X-Tenant": "7" }
  )
end

OutboxMessage.again do
  Order.transaction do
    Order.create!(id: 6, customer: "Ann")
    OutboxMessage.create!(channel: "hooks", target: hook, idempotency_key: "order-6-placed", payload: { order: 6 })
  end
end
