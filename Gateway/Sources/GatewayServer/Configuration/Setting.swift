import Configuration

/// A key of the configuration file, with its type and default.
struct Setting: Sendable {
    /// The type of a setting.
    enum Kind: Sendable, Equatable {
        case text(String)
        case texts([String])
        case whole(Int, ClosedRange<Int>)
        case number(Double, ClosedRange<Double>)
        /// A required string.
        case needed
    }

    let key: String
    let kind: Kind
    let meaning: String

    /// The settings of the gateway itself.
    static let gateway: [Setting] = [
        Setting("http.host", .text("127.0.0.1"), "The address to listen on."),
        Setting("http.port", .whole(8_080, 0...65_535), "The port; any that is free if 0."),
        Setting("http.certificate", .text(""), "The certificate in PEM, relative to this file; no TLS without one."),
        Setting("http.key", .text(""), "Its private key in PEM, relative to this file."),
        Setting("http.connections", .whole(20_000, 1...1_000_000), "How many connections at once; more wait."),
        Setting("http.headBytes", .whole(16_384, 1_024...1_048_576), "The bytes of a request's line and fields."),
        Setting("http.bodyBytes", .whole(1_000_000, 1_024...100_000_000), "The bytes of a request's body."),
        Setting("http.headSeconds", .number(8, 0.1...3_600), "How long a request's line and fields may take."),
        Setting("http.bodySeconds", .number(10, 0.1...3_600), "How long a body may take."),
        Setting(
            "http.idleSeconds",
            .number(60, 0.1...86_400),
            "How long a connection may be silent, or leave an answer unread."
        ),
        Setting("http.origins", .texts([]), "The origins whose pages may call; `*` for all."),
        Setting(
            "shutdown.drainSeconds",
            .number(5, 0...3_600),
            "How long to serve on after the signal to end: longer than the interval at which a balancer asks `/ready`."
        ),
        Setting("shutdown.seconds", .number(30, 0...3_600), "How long the end may take after that."),
        Setting(
            "log.level",
            .text("warning"),
            "What is logged on standard error: `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical` and above."
        ),
        Setting("operators.tokens", .texts([]), "SHA-256 of the tokens that may see figures and the console."),
    ]

    /// The settings of each tenant, under `tenants.NAME.`.
    static let tenant: [Setting] = [
        Setting(
            "vendor",
            .needed,
            "The file with the vendor and its settings, or the plan of a move; relative to this file."
        ),
        Setting("store", .text("memory"), "The SQLite file for events and rules, relative to this file; or `memory`."),
        Setting("store.postgres.url", .text(""), "In place of `store`: a PostgreSQL database that instances share."),
        Setting("store.postgres.url.env", .text(""), "The environment variable that holds that URL."),
        Setting("store.postgres.schema", .text(""), "The schema of its tables; `experimentation_NAME` unless set."),
        Setting("store.postgres.connections", .whole(4, 1...100), "How many connections at most."),
        Setting(
            "store.postgres.leaseSeconds",
            .number(30, 1...120),
            "How long until other instances deliver the events that a dead instance had leased."
        ),
        Setting(
            "store.postgres.meanwhile",
            .text(""),
            "The SQLite file for what is accepted while the database is away, relative to this file; refused without one."
        ),
        Setting(
            "store.postgres.meanwhileMegabytes",
            .whole(1_000, 1...1_000_000),
            "How much may wait in that file; more is refused with 503."
        ),
        Setting("tokens", .texts([]), "SHA-256 of the tenant's bearer tokens, in hexadecimal digits."),
        Setting("exposures", .text("single"), "What single evaluations record: `single` or `none`."),
        Setting(
            "assignments",
            .text("kept"),
            "Whether a user's first assignment is stored and kept, if the vendor promises that: `kept` or `computed`."
        ),
        Setting(
            "consent",
            .text("unknown"),
            "The consent of users whose request doesn't state it: `unknown`, `granted` or `denied`. It ends no denial."
        ),
        Setting(
            "decisions.seconds",
            .number(10, 0...86_400),
            "How long decisions of a vendor that is asked for each user are current."
        ),
        Setting(
            "decisions.graceSeconds",
            .number(60, 0...86_400),
            "How long after that they are answered at once, as `STALE`, while the vendor is asked for newer ones."
        ),
        Setting(
            "decisions.failureSeconds",
            .number(2, 0...3_600),
            "How long a vendor isn't asked again after a failure."
        ),
        Setting("decisions.megabytes", .whole(64, 0...100_000), "How much memory these decisions may take, roughly."),
        Setting("types", .texts([]), "The types of flags whose values leave them open, such as `price=float`."),
        Setting(
            "requestsPerSecond",
            .number(0, 0...1_000_000),
            "The sustained number of requests per second; unlimited if 0."
        ),
        Setting("burst", .number(0, 0...10_000_000), "How many at once; two seconds' worth if 0."),
        Setting("streams", .whole(10_000, 0...1_000_000), "How many may listen for changes at once."),
    ]

    init(_ key: String, _ kind: Kind, _ meaning: String) {
        self.key = key
        self.kind = kind
        self.meaning = meaning
    }

    /// The settings of a file with these tenants.
    static func all(of tenants: [String]) -> [Setting] {
        gateway + tenants.flatMap { name in tenant.map { Setting("tenants.\(name).\($0.key)", $0.kind, $0.meaning) } }
    }

    /// The environment variable that overrides the file: `http.bodySeconds` is `XP_GATEWAY_HTTP_BODY_SECONDS`.
    var variable: String {
        Self.variablePrefix
            + key.map { $0 == "." ? "_" : $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }

    /// The prefix of these variables' names.
    static let variablePrefix = "XP_GATEWAY_"

    /// The default, for the last provider in the chain; `nil` for a required setting.
    var fallback: ConfigValue? {
        switch kind {
        case .text(let text): ConfigValue(.string(text), isSecret: false)
        case .texts(let texts): ConfigValue(.stringArray(texts), isSecret: false)
        case .whole(let number, _): ConfigValue(.int(number), isSecret: false)
        case .number(let number, _): ConfigValue(.double(number), isSecret: false)
        case .needed: nil
        }
    }
}

extension Setting {
    /// The default as the reference documentation shows it.
    var written: String {
        switch kind {
        case .text(let text): "`\"\(text)\"`"
        case .texts: "`[]`"
        case .whole(let number, _): "`\(number)`"
        case .number(let number, _): number == number.rounded() ? "`\(Int(number))`" : "`\(number)`"
        case .needed: "needed"
        }
    }
}

/// The reference of a configuration file's keys, as `docs/gateway.md` has it.
public enum SettingReference {
    /// The gateway's own keys as a table in Markdown.
    public static var gateway: String { table(Setting.gateway) }

    /// Each tenant's keys, under `tenants.NAME.`, as a table in Markdown.
    public static var tenant: String { table(Setting.tenant) }

    private static func table(_ settings: [Setting]) -> String {
        let rows = settings.map { "| `\($0.key)` | \($0.written) | \($0.meaning) |" }
        return (["| Key | Default | Meaning |", "|---|---|---|"] + rows).joined(separator: "\n")
    }
}
