import Foundation

extension FlagshipMock {
    // MARK: The file of campaigns

    /// Answers with the file, or only its settings, unless the application has the latest version.
    func publish(_ request: MockRequest, operation: String) -> MockResponse {
        guard request.segments.first == environmentID else {
            return MockResponse(status: 403, type: "application/xml", text: "<Error><Code>AccessDenied</Code></Error>")
        }
        let modified = lastModified
        if sendsValidators, request.header("If-Modified-Since") == modified { return MockResponse(status: 304) }
        var body = raw
        if operation == "accountSettings" {
            body = Array(MockJSON.object(["accountSettings": file.settings]).text.utf8)
        } else if isPanicking {
            body = Array(#"{"panic":true}"#.utf8)
        }
        var headers = [MockRequest.Header("Content-Type", "application/json")]
        if sendsValidators { headers.append(.init("Last-Modified", modified)) }
        return MockResponse(status: 200, headers: headers, body: request.method == "HEAD" ? [] : body)
    }

    /// The file's date, derived from its content and version.
    ///
    /// Different mocks have different dates, so that a client holding another mock's file isn't told that it is
    /// current.
    public var lastModified: String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let minutes =
            Double(version) - Double(FlagshipMockAllocation.murmur3(String(decoding: raw, as: UTF8.self)) % 10_000_000)
        return formatter.string(from: Date(timeIntervalSince1970: 1_767_225_600 + minutes * 60))
    }

    // MARK: What a test switches

    /// Turns the vendor's kill switch on or off.
    public func setPanic(_ isOn: Bool) {
        if isPanicking != isOn { version += 1 }
        isPanicking = isOn
    }

    /// Chooses whose targeting rules the Decision API applies.
    public func setRules(_ rules: FlagshipMockRules) { self.rules = rules }

    /// Chooses whether the Decision API remembers its decisions.
    public func setRemembers(_ remembers: Bool) { self.remembers = remembers }

    /// Chooses whether unknown fields are rejected.
    public func setStrict(_ isStrict: Bool) { self.isStrict = isStrict }

    /// Chooses whether the CDN sends `Last-Modified` dates and honors them in requests.
    public func setSendsValidators(_ sendsValidators: Bool) { self.sendsValidators = sendsValidators }

    // MARK: What a test asks

    /// The exposures accepted, in order.
    public var receivedActivations: [FlagshipMockActivation] { activations }

    /// The hits accepted, in order, each as JSON with sorted keys.
    public var receivedHits: [String] { hits.map { MockJSON.object($0.fields).text } }

    /// Exposures and hits together, in the order of arrival.
    public var receivedInOrder: [FlagshipMockTaken] { taken }

    /// Bounds the memory of visitors: the latest are kept, between `count` and twice as many.
    public func setRemembered(visitors count: Int) { memory.limit = max(count, 1) }

    /// Returns ``receivedInOrder``, and forgets it; the memory of visitors stays.
    public func takeReceived() -> [FlagshipMockTaken] {
        defer { (taken, hits, activations, reports, visits) = ([], [], [], [], []) }
        return taken
    }

    /// Which request each hit came in, in the order of ``receivedHits``.
    public var requestsOfHits: [Int] { hits.map(\.request) }

    /// The reports accepted, troubleshooting and usage, each as JSON.
    public var receivedReports: [String] { reports.map(\.text) }

    /// The assignments that the Decision API remembers for a visitor: variation by group.
    public func assignments(of visitor: String) -> [String: String] {
        memory[visitor].mapValues(\.variation)
    }

    /// Answers requests under `/_mock/`: `GET hits`, `activations`, `contexts`, `reports`, `assignments`, `settings`,
    /// `world`; `POST panic`, `rules`, `settings`, `world`.
    public func control(_ request: MockRequest) async -> MockResponse? {
        let segments = request.segments
        guard segments.count == 1, let name = segments.first else { return nil }
        switch (request.method, name) {
        case ("GET", "hits"): return Self.list(hits.map(\.json))
        case ("GET", "contexts"): return Self.list(visits)
        case ("GET", "reports"): return Self.list(reports)
        case ("GET", "activations"):
            return Self.list(
                activations.compactMap { try? JSONEncoder().encode($0) }.compactMap(MockJSON.parse)
            )
        case ("GET", "assignments"):
            let places = memory.all.mapValues { groups in
                MockJSON.object(
                    groups.mapValues {
                        .object(["variation": .string($0.variation), "activated": .bool($0.isActivated)])
                    }
                )
            }
            return .json(MockJSON.object(places).text)
        case ("GET", "settings"): return .json(settings.text)
        case ("GET", "world"):
            return MockResponse(status: 200, type: "application/json", text: String(decoding: raw, as: UTF8.self))
        case ("POST", "panic"):
            guard let isOn = MockJSON.parse(request.body)?["on"]?.bool else {
                return Self.failure(#"expected {"on":true} or {"on":false}"#)
            }
            setPanic(isOn)
            return .json(settings.text)
        case ("POST", "rules"), ("POST", "settings"): return change(request)
        case ("POST", "world"), ("PUT", "world"):
            do {
                try load(Data(request.body))
                return .json(settings.text)
            } catch {
                return Self.failure(error.description)
            }
        default: return nil
        }
    }

    private var settings: MockJSON {
        .object([
            "panic": .bool(isPanicking || file.panic), "rules": .string(rules.rawValue),
            "remembers": .bool(remembers), "strict": .bool(isStrict), "validators": .bool(sendsValidators),
            "lastModified": .string(lastModified), "campaigns": .int(file.campaigns.count),
        ])
    }

    private func change(_ request: MockRequest) -> MockResponse {
        guard let members = MockJSON.parse(request.body)?.object else {
            return Self.failure("expected an object")
        }
        for (name, value) in members {
            switch (name, value) {
            case ("rules", .string(let text)) where FlagshipMockRules(rawValue: text) != nil: break
            case ("remembers", .bool), ("strict", .bool), ("validators", .bool): break
            default:
                return Self.failure(
                    "'\(name)': known are rules (server or sdk), remembers, strict and validators (true or false)"
                )
            }
        }
        if let text = members["rules"]?.string, let rules = FlagshipMockRules(rawValue: text) { setRules(rules) }
        if let remembers = members["remembers"]?.bool { setRemembers(remembers) }
        if let isStrict = members["strict"]?.bool { setStrict(isStrict) }
        if let validators = members["validators"]?.bool { setSendsValidators(validators) }
        return .json(settings.text)
    }

    private static func list(_ values: [MockJSON]) -> MockResponse {
        .json(MockJSON.array(values).text)
    }
}
