package shop.jpa;

import org.springframework.data.jpa.repository.JpaRepository;

public interface OutboxMessages extends JpaRepository<OutboxMessage, Long> {}
