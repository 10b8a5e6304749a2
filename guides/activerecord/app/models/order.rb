# frozen_string_literal: true

class Order < ActiveRecord::Base
end
