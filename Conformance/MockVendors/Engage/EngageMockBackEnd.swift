import Foundation

/// The vendor's database: recipient lists and relational tables.
///
/// Its JSON is the format that ``EngageMock/load(_:)`` takes. All keys except the ids are optional:
///
/// ```json
/// {"credentials": {"clientID": "client", "clientSecret": "secret", "refreshToken": "refresh"},
///  "settings": {"tokenLifetime": 14399, "strictBehaviors": false},
///  "organization": "2b22-13e3-adc7",
///  "lists": [{"id": 23949, "name": "Shop", "key": null,
///             "columns": [{"name": "Mobile User Id", "type": 0}, {"name": "Merged Date", "type": 3}],
///             "recipients": [{"id": 100000, "values": {"Email": "ann@example.test"}, "optedOut": false}]}],
///  "tables": [{"id": 29392, "name": "Audit", "keys": ["Audit Record Id"],
///              "columns": [{"name": "Audit Record Id", "type": 0}, {"name": "Create Date", "type": 3}],
///              "rows": [{"Audit Record Id": "A-1"}]}]}
/// ```
///
/// `key` names the column that identifies a recipient of a keyed list; a list without one is flexible. `type` is the
/// vendor's code: 0 text, 2 number, 3 date, and so on.
struct EngageMockBackEnd: Sendable, Hashable, Codable {
    /// A column of a list or a table.
    struct Column: Sendable, Hashable, Codable {
        var name: String
        var type = 0
        var standard = ""

        init(_ name: String, type: Int = 0, standard: String = "") {
            self.name = name
            self.type = type
            self.standard = standard
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            name = try values.decode(String.self, forKey: .name)
            type = try values.decodeIfPresent(Int.self, forKey: .type) ?? 0
            standard = try values.decodeIfPresent(String.self, forKey: .standard) ?? ""
        }
    }

    /// A recipient of a list.
    struct Recipient: Sendable, Hashable, Codable {
        var id: Int
        var values: [String: String]
        var optedOut = false
        var createdFrom = "1"
        var created = Date(timeIntervalSince1970: 0)
        var modified = Date(timeIntervalSince1970: 0)

        init(id: Int, values: [String: String], createdFrom: String = "1", now: Date) {
            self.id = id
            self.values = values
            self.createdFrom = createdFrom
            created = now
            modified = now
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            id = try fields.decode(Int.self, forKey: .id)
            values = try fields.decodeIfPresent([String: String].self, forKey: .values) ?? [:]
            optedOut = try fields.decodeIfPresent(Bool.self, forKey: .optedOut) ?? false
            createdFrom = try fields.decodeIfPresent(String.self, forKey: .createdFrom) ?? "1"
            created = try fields.decodeIfPresent(Date.self, forKey: .created) ?? created
            modified = try fields.decodeIfPresent(Date.self, forKey: .modified) ?? modified
        }
    }

    /// A recipient list, in the order of creation.
    struct List: Sendable, Hashable, Codable {
        var id: Int
        var name = ""
        /// The column that identifies a recipient; `nil` for a flexible list.
        var key: String?
        var columns: [Column] = []
        var recipients: [Recipient] = []

        init(id: Int, name: String, key: String? = nil, columns: [Column]) {
            self.id = id
            self.name = name
            self.key = key
            self.columns = columns
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            id = try values.decode(Int.self, forKey: .id)
            name = try values.decodeIfPresent(String.self, forKey: .name) ?? ""
            key = try values.decodeIfPresent(String.self, forKey: .key)
            columns = try values.decodeIfPresent([Column].self, forKey: .columns) ?? []
            recipients = try values.decodeIfPresent([Recipient].self, forKey: .recipients) ?? []
        }
    }

    /// A relational table.
    struct Table: Sendable, Hashable, Codable {
        var id: Int
        var name = ""
        var keys: [String]
        var columns: [Column]
        var rows: [[String: String]] = []

        init(id: Int, name: String, keys: [String], columns: [Column]) {
            self.id = id
            self.name = name
            self.keys = keys
            self.columns = columns
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            id = try values.decode(Int.self, forKey: .id)
            name = try values.decodeIfPresent(String.self, forKey: .name) ?? ""
            keys = try values.decodeIfPresent([String].self, forKey: .keys) ?? []
            columns = try values.decodeIfPresent([Column].self, forKey: .columns) ?? []
            rows = try values.decodeIfPresent([[String: String]].self, forKey: .rows) ?? []
        }
    }

    var credentials = EngageTokens.Credentials()
    var settings = EngageSettings()
    var organization = "2b22-13e3-adc7"
    var lists: [List] = []
    var tables: [Table] = []
    /// The id of the next recipient; ids only increase.
    var nextRecipient = 100_000

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        credentials = try values.decodeIfPresent(EngageTokens.Credentials.self, forKey: .credentials) ?? credentials
        settings = try values.decodeIfPresent(EngageSettings.self, forKey: .settings) ?? settings
        organization = try values.decodeIfPresent(String.self, forKey: .organization) ?? organization
        lists = try values.decodeIfPresent([List].self, forKey: .lists) ?? []
        tables = try values.decodeIfPresent([Table].self, forKey: .tables) ?? []
        let largest = lists.flatMap(\.recipients).map(\.id).max().map { $0 &+ 1 } ?? 100_000
        nextRecipient = max(try values.decodeIfPresent(Int.self, forKey: .nextRecipient) ?? 100_000, largest)
    }

    /// The initial world: the flexible list 23949 with the reference's columns, and the audit table 29392.
    static let standard: EngageMockBackEnd = {
        var world = EngageMockBackEnd()
        world.lists = [
            List(
                id: 23949,
                name: "Mobile",
                columns: [
                    Column("Email"), Column("facebook_id"), Column("twitter_id"), Column("Mobile User Id"),
                    Column("Merged Recipient Id"), Column("Merged Date", type: 3), Column("CONTACT_ID"),
                    Column("MERGE_CONTACT_ID"), Column("Lname"), Column("Customer Id"),
                ]
            )
        ]
        world.tables = [
            Table(
                id: 29392,
                name: "Audit",
                keys: ["Audit Record Id"],
                columns: [
                    Column("Audit Record Id"), Column("Old Recipient Id"), Column("New Recipient Id"),
                    Column("Create Date", type: 3),
                ]
            )
        ]
        return world
    }()

    /// Parses the JSON format documented above.
    static func reading(_ data: Data) throws(MockWorldError) -> EngageMockBackEnd {
        let world: EngageMockBackEnd
        do {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            world = try decoder.decode(EngageMockBackEnd.self, from: data)
        } catch let error as DecodingError {
            throw MockWorldError(describe(error))
        } catch {
            throw MockWorldError("the world isn't JSON: \(error)")
        }
        for list in world.lists {
            let names = list.columns.map { EngageMockBackEnd.canonical($0.name) }
            if let twice = firstRepeated(names) {
                throw MockWorldError("lists[\(list.id)].columns: \"\(twice)\" is there twice")
            }
            if let key = list.key, !names.contains(EngageMockBackEnd.canonical(key)) {
                throw MockWorldError("lists[\(list.id)].key: \"\(key)\" is not one of its columns")
            }
        }
        if let twice = firstRepeated(world.lists.map { String($0.id) } + world.tables.map { String($0.id) }) {
            throw MockWorldError("the id \(twice) is there twice")
        }
        return world
    }

    /// The name that a column is stored under; both spellings of the system's e-mail column are the same column.
    static func canonical(_ name: String) -> String { name == "EMAIL" ? "Email" : name }

    private static func firstRepeated(_ names: [String]) -> String? {
        var seen: Set<String> = []
        return names.first { !seen.insert($0).inserted }
    }

    private static func describe(_ error: DecodingError) -> String {
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty
                ? "the world" : path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
        }
        switch error {
        case .keyNotFound(let key, let context):
            return "\(place(context.codingPath)): \"\(key.stringValue)\" is missing"
        case .typeMismatch(let type, let context): return "\(place(context.codingPath)): expected \(type)"
        case .valueNotFound(let type, let context): return "\(place(context.codingPath)): expected \(type), found null"
        case .dataCorrupted(let context): return "\(place(context.codingPath)): \(context.debugDescription)"
        @unknown default: return "the world can't be read"
        }
    }
}
