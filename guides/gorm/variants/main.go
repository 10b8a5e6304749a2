package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/datatypes"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// The models that people write. Each is tried on the table and on the view outbox_new.
type (
	least struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
	}
	withID struct {
		ID                              int64
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
	}
	keyFirst struct {
		IdempotencyKey  string `gorm:"primaryKey"`
		Channel, Target string
		Payload         datatypes.JSON
	}
	withDefaults struct {
		ID                              int64
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
		Priority                        int16     `gorm:"default:0"`
		AvailableAt                     time.Time `gorm:"default:(-)"`
	}
	withStatus struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
		Status                          string `gorm:"default:PENDING"`
	}
	raw struct {
		IdempotencyKey, Channel, Target string
		Payload                         json.RawMessage
	}
	text struct {
		IdempotencyKey, Channel, Target string
		Payload                         string
	}
	bytes struct {
		IdempotencyKey, Channel, Target string
		Payload                         []byte
	}
	serialized struct {
		IdempotencyKey, Channel, Target string
		Payload                         map[string]any `gorm:"serializer:json"`
	}
	jsonMap struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSONMap
	}
	jsonType struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSONType[map[string]any]
	}
	serializedText struct {
		IdempotencyKey, Channel, Target string
		Payload                         string `gorm:"serializer:json"`
	}
	withMaxAttempts struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
		MaxAttempts                     int16
	}
	withMaxAttemptsPointer struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
		MaxAttempts                     *int16
	}
	withExpiresAt struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
		ExpiresAt                       time.Time
	}
	withAvailableAt struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
		AvailableAt                     time.Time
	}
	withCreatedAt struct {
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
		CreatedAt                       time.Time
	}
	withModel struct {
		gorm.Model
		IdempotencyKey, Channel, Target string
		Payload                         datatypes.JSON
	}
)

func open(config *gorm.Config, loc *time.Location, interpolate bool) *gorm.DB {
	config.Logger = logger.Discard
	if os.Getenv("GUIDE_SERVER") == "postgres" {
		return must(gorm.Open(postgres.New(postgres.Config{
			DSN: os.Getenv("DATABASE_URL"), PreferSimpleProtocol: interpolate,
		}), config))
	}
	dsn := mysqldriver.NewConfig()
	dsn.Net = "tcp"
	dsn.Addr = net.JoinHostPort(os.Getenv("DB_HOST"), os.Getenv("DB_PORT"))
	dsn.User = os.Getenv("DB_USER")
	dsn.Passwd = os.Getenv("DB_PASSWORD")
	dsn.DBName = os.Getenv("DB_NAME")
	dsn.ParseTime = true
	dsn.Loc = loc
	dsn.InterpolateParams = interpolate
	return must(gorm.Open(mysql.Open(dsn.FormatDSN()), config))
}

func main() {
	db := open(&gorm.Config{}, time.UTC, false)
	translating := open(&gorm.Config{TranslateError: true}, time.UTC, false)
	preparing := open(&gorm.Config{PrepareStmt: true}, time.UTC, false)
	plain := open(&gorm.Config{}, time.UTC, true) // PostgreSQL's simple protocol, MySQL's interpolateParams
	local := open(&gorm.Config{}, time.Local, false)

	for _, table := range []string{"outbox", "outbox_new"} {
		create := func(db *gorm.DB, model func(row) any) func(row) error {
			return func(r row) error { return db.Table(table).Create(model(r)).Error }
		}
		on := func(name string, write func(row) error) { try(table+": "+name, write) }

		on("Create", create(db, leastOf))
		on("Create, PrepareStmt", create(preparing, leastOf))
		on("Create, simple protocol or interpolateParams", create(plain, leastOf))
		on("Create, an ID", create(db, withIDOf))
		on("Create, the key as primaryKey", create(db, keyFirstOf))
		on("Save, the key as primaryKey", func(r row) error { return db.Table(table).Save(keyFirstOf(r)).Error })
		on("Create, default tags", create(db, func(r row) any {
			return &withDefaults{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
		}))
		on("Create, Status with a default tag", create(db, func(r row) any {
			return &withStatus{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
		}))
		on("Create, clause.Returning{}", func(r row) error {
			return db.Table(table).Clauses(clause.Returning{}).Create(withIDOf(r)).Error
		})
		on("Create from a map", func(r row) error {
			return db.Table(table).Create(map[string]any{
				"idempotency_key": r.key, "channel": "hooks", "target": r.target, "payload": string(r.payload),
			}).Error
		})
		on("FirstOrCreate", func(r row) error {
			return db.Table(table).Where("idempotency_key = ?", r.key).FirstOrCreate(leastOf(r)).Error
		})
		many := func(name string, write func([]least) error) {
			tryMany(table+": "+name, func(rows []row) error {
				var models []least
				for _, r := range rows {
					models = append(models, *leastOf(r).(*least))
				}
				return write(models)
			})
		}
		many("Create of a slice", func(m []least) error { return db.Table(table).Create(&m).Error })
		many("CreateInBatches", func(m []least) error { return db.Table(table).CreateInBatches(&m, 2).Error })

		// A known key: the first message stands, and the transaction goes on.
		twice := func(db *gorm.DB, again func(*gorm.DB, row) error) func(row) error {
			return func(r row) error {
				return db.Transaction(func(tx *gorm.DB) error {
					if err := tx.Table(table).Create(leastOf(r)).Error; err != nil {
						return err
					}
					r.payload = []byte(`{"n": 0}`)
					if err := again(tx, r); err != nil {
						return err
					}
					return tx.Exec("SELECT 1").Error
				})
			}
		}
		on("a known key: OnConflict{DoNothing}", twice(db, func(tx *gorm.DB, r row) error {
			return tx.Table(table).Clauses(clause.OnConflict{DoNothing: true}).Create(leastOf(r)).Error
		}))
		on("a known key: OnConflict{UpdateAll}", twice(db, func(tx *gorm.DB, r row) error {
			return tx.Table(table).Clauses(clause.OnConflict{UpdateAll: true}).Create(keyFirstOf(r)).Error
		}))
		on("a known key: ErrDuplicatedKey is caught", twice(translating, func(tx *gorm.DB, r row) error {
			return ignoreDuplicate(tx.Table(table).Create(leastOf(r)).Error)
		}))
		on("a known key: ErrDuplicatedKey is caught around a nested Transaction", twice(translating, func(tx *gorm.DB, r row) error {
			return ignoreDuplicate(tx.Transaction(func(tx *gorm.DB) error { return tx.Table(table).Create(leastOf(r)).Error }))
		}))
	}

	// How the payload is written decides the rest: from here on by the view.
	view := func(db *gorm.DB, model func(row) any) func(row) error {
		return func(r row) error { return db.Table("outbox_new").Create(model(r)).Error }
	}
	try("payload: json.RawMessage", view(db, func(r row) any { return &raw{r.key, "hooks", r.target, r.payload} }))
	try("payload: []byte", view(db, func(r row) any { return &bytes{r.key, "hooks", r.target, r.payload} }))
	try("payload: []byte, simple protocol or interpolateParams",
		view(plain, func(r row) any { return &bytes{r.key, "hooks", r.target, r.payload} }))
	try("payload: string", view(db, func(r row) any { return &text{r.key, "hooks", r.target, string(r.payload)} }))
	try("payload: map with serializer:json", view(db, func(r row) any { return &serialized{r.key, "hooks", r.target, r.body} }))
	try("payload: datatypes.JSONMap", view(db, func(r row) any {
		return &jsonMap{r.key, "hooks", r.target, datatypes.JSONMap(r.body)}
	}))
	try("payload: datatypes.JSONType", view(db, func(r row) any {
		return &jsonType{r.key, "hooks", r.target, datatypes.NewJSONType(r.body)}
	}))
	try("payload: serializer:json of a string that is JSON already", view(db, func(r row) any {
		return &serializedText{r.key, "hooks", r.target, string(r.payload)}
	}))
	try("payload: empty datatypes.JSON", view(db, func(r row) any {
		return &least{IdempotencyKey: r.key, Channel: "hooks", Target: r.target}
	}))
	try("MaxAttempts int16, left unset", view(db, func(r row) any {
		return &withMaxAttempts{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
	}))
	try("MaxAttempts *int16, left unset", view(db, func(r row) any {
		return &withMaxAttemptsPointer{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
	}))
	try("ExpiresAt time.Time, left unset", view(db, func(r row) any {
		return &withExpiresAt{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
	}))
	try("AvailableAt time.Time, left unset", view(db, availableAt(time.Time{})))
	try("CreatedAt", view(db, func(r row) any {
		return &withCreatedAt{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
	}))
	try("CreatedAt, loc=Local", view(local, func(r row) any {
		return &withCreatedAt{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
	}))
	try("gorm.Model", view(db, func(r row) any {
		return &withModel{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
	}))
	try("AutoMigrate of a model of the table", func(row) error { return db.Table("outbox").AutoMigrate(&withModel{}) })

	tryLater("AvailableAt: time.Now()", func(r row, delay time.Duration) error {
		return view(db, availableAt(time.Now().Add(delay)))(r)
	})
	tryLater("AvailableAt: time.Now(), loc=Local", func(r row, delay time.Duration) error {
		return view(local, availableAt(time.Now().Add(delay)))(r)
	})
	tryLater("AvailableAt: time.Now().UTC(), loc=Local", func(r row, delay time.Duration) error {
		return view(local, availableAt(time.Now().UTC().Add(delay)))(r)
	})

	enqueue := func(db *gorm.DB, payload func(row) any) func(row, time.Duration) error {
		return func(r row, delay time.Duration) error {
			if db.Name() == "postgres" {
				var id *int64
				return db.Raw(`SELECT outbox_enqueue('hooks', ?, ?, ?, p_delay_seconds => ?)`,
					r.target, payload(r), r.key, delay.Seconds()).Scan(&id).Error
			}
			options := must(json.Marshal(map[string]any{"delay_seconds": delay.Seconds()}))
			return db.Exec(`CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`, r.target, payload(r), r.key, string(options)).Error
		}
	}
	tryLater("outbox_enqueue, string", enqueue(db, func(r row) any { return string(r.payload) }))
	tryLater("outbox_enqueue, []byte", enqueue(db, func(r row) any { return r.payload }))
	tryLater("outbox_enqueue, datatypes.JSON", enqueue(db, func(r row) any { return datatypes.JSON(r.payload) }))
	tryLater("outbox_enqueue, loc=Local", enqueue(local, func(r row) any { return string(r.payload) }))
}

func leastOf(r row) any {
	return &least{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
}

func withIDOf(r row) any {
	return &withID{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
}

func keyFirstOf(r row) any {
	return &keyFirst{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload}
}

func availableAt(at time.Time) func(row) any {
	return func(r row) any {
		return &withAvailableAt{IdempotencyKey: r.key, Channel: "hooks", Target: r.target, Payload: r.payload, AvailableAt: at}
	}
}

func ignoreDuplicate(err error) error {
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return nil
	}
	return err
}
