import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;

class Apply {
    public static void main(String[] arguments) throws Exception {
        var folder = Path.of(arguments[2]);
        try (var connection = DriverManager.getConnection(arguments[0], arguments[1], ""); var files = Files.list(folder)) {
            var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
            var file = files.map(path -> path.getFileName().toString()).filter(name -> name.startsWith("outbox")).findFirst().get();
            new Liquibase(file, new DirectoryResourceAccessor(folder), database).update("");
        }
    }
}
