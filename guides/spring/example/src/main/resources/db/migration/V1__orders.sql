CREATE TABLE orders (
    id       bigint PRIMARY KEY,
    customer varchar(100) NOT NULL,
    state    varchar(20) NOT NULL DEFAULT 'placed'
);
