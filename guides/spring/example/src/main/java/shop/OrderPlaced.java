package shop;

import com.fasterxml.jackson.annotation.JsonFormat;
import java.math.BigDecimal;

/** The total is a string in JSON: MySQL and many receivers would round a number of so many digits. */
public record OrderPlaced(long order, String customer, long units,
                          @JsonFormat(shape = JsonFormat.Shape.STRING) BigDecimal total) {}
