<?php
echo '{"try": "a", "key": "try-1", "refused": "nope"}', "\n";
echo '{"try": "b", "key": "try-2", "body": 1}', "\n";
