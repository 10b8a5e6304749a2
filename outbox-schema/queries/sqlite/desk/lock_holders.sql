SELECT '' AS lock, '' AS session, '' AS who WHERE FALSE
