extension EvergageMock {
    enum Route {
        case event(String), authevent(String), ping, stats
        case config(String, String)

        init?(_ request: MockRequest) {
            let segments = request.segments
            switch (segments.count, segments.first) {
            case (3, "api2") where segments[1] == "event": self = .event(segments[2])
            case (3, "api2") where segments[1] == "authevent": self = .authevent(segments[2])
            case (1, "pr"): self = .ping
            case (1, "msreceiver"): self = .stats
            case (4, "mobile") where segments[1] == "config" && segments[3].hasSuffix(".json"):
                self = .config(segments[2], String(segments[3].dropLast(5)))
            default: return nil
            }
        }

        var operation: String {
            switch self {
            case .event: "event"
            case .authevent: "authevent"
            case .ping: "ping"
            case .stats: "stats"
            case .config: "config"
            }
        }

        var methods: [String] {
            switch self {
            case .event, .ping, .stats: ["GET", "POST"]
            case .authevent: ["POST"]
            case .config: ["GET"]
            }
        }
    }
}
