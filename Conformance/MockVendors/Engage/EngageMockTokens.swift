import Foundation

/// The desk that hands out access tokens, by the vendor's rules.
struct EngageTokens: Sendable {
    /// An access token that was handed out.
    struct Issued: Sendable, Hashable, Codable {
        var token: String
        var issued: Date
        var expires: Date
        var isRevoked = false
    }

    /// Who may come in.
    struct Credentials: Sendable, Hashable, Codable {
        var clientID = "client"
        var clientSecret = "secret"
        var refreshToken = "refresh"
    }

    var credentials = Credentials()
    /// Refresh tokens that are good; more than one while they rotate.
    private(set) var refreshTokens: Set<String>
    private(set) var issued: [Issued] = []
    private(set) var requests = 0
    private var rotations = 0

    init(credentials: Credentials = Credentials()) {
        self.credentials = credentials
        refreshTokens = [credentials.refreshToken]
    }

    /// Whether a request with this header field may pass.
    func admits(_ authorization: String?, at now: Date) -> Bool {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return false }
        let token = authorization.dropFirst(7).trimmingCharacters(in: .whitespaces)
        return issued.contains { $0.token == token && !$0.isRevoked && now < $0.expires }
    }

    /// Makes every token that was handed out worthless; the next request gets a new one.
    mutating func expireAll() {
        for index in issued.indices { issued[index].isRevoked = true }
    }

    /// Forgets everything that was handed out.
    mutating func reset() {
        self = EngageTokens(credentials: credentials)
    }

    /// Answers a request for a token.
    mutating func grant(_ request: MockRequest, settings: EngageSettings, now: Date) -> MockResponse {
        requests += 1
        guard request.method == "POST" else { return refusal(405, "invalid_request", "POST only") }
        let type = request.header("Content-Type")?.lowercased() ?? ""
        guard type.hasPrefix("application/x-www-form-urlencoded") else {
            return refusal(400, "invalid_request", "a form is expected")
        }
        let fields = Dictionary(FormEncoding.decode(request.text).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        guard let grant = fields["grant_type"], let client = fields["client_id"],
            let secret = fields["client_secret"], let refresh = fields["refresh_token"]
        else {
            return refusal(
                400,
                "invalid_request",
                "grant_type, client_id, client_secret and refresh_token are required"
            )
        }
        guard grant == "refresh_token" else { return refusal(400, "unsupported_grant_type", "unknown grant_type") }
        guard client == credentials.clientID, secret == credentials.clientSecret else {
            return refusal(401, "invalid_client", "unknown client or wrong secret")
        }
        guard refreshTokens.contains(refresh) else {
            return refusal(400, "invalid_grant", "the refresh token isn't valid")
        }
        // The vendor gives a new token only some hours after the last one; until then the same again.
        if let last = issued.last, !last.isRevoked, now < last.expires,
            now.timeIntervalSince(last.issued) < settings.reissueWindow
        {
            return success(last, refresh: refresh, now: now)
        }
        if let limit = settings.tokensPerHour {
            let recent = issued.count { now.timeIntervalSince($0.issued) < 3600 }
            if recent >= limit { return refusal(429, "rate_limited", "too many access tokens in an hour") }
        }
        let token = Issued(
            token: "at-" + Self.padded(issued.count + 1),
            issued: now,
            expires: now.addingTimeInterval(settings.tokenLifetime)
        )
        issued.append(token)
        var answered = refresh
        if settings.rotatesRefreshTokens {
            rotations += 1
            answered = "\(credentials.refreshToken)-\(rotations)"
            refreshTokens = [answered]
        }
        return success(token, refresh: answered, now: now)
    }

    private func success(_ token: Issued, refresh: String, now: Date) -> MockResponse {
        let rest = max(0, Int(token.expires.timeIntervalSince(now).rounded(.down)))
        return .json(
            #"{"access_token":"\#(token.token)","token_type":"bearer","refresh_token":"\#(refresh)","expires_in":\#(rest)}"#
        )
    }

    private func refusal(_ status: Int, _ error: String, _ text: String) -> MockResponse {
        .json(#"{"error":"\#(error)","error_description":"\#(text)"}"#, status: status)
    }

    private static func padded(_ number: Int) -> String {
        String(repeating: "0", count: max(0, 4 - String(number).count)) + String(number)
    }
}

/// How this vendor behaves where its documents leave it open.
struct EngageSettings: Sendable, Hashable, Codable {
    /// Seconds that a token lives.
    var tokenLifetime = 14_399.0
    /// Seconds in which the same token is handed out again.
    var reissueWindow = 10_800.0
    /// How many new tokens are handed out in an hour; `nil` for any number.
    var tokensPerHour: Int?
    /// Whether each new access token comes with a new refresh token that replaces the old one.
    var rotatesRefreshTokens = false
    /// The fault for a list that doesn't exist: 108, as seen in practice, or 106.
    var unknownListCode = 108
    /// Whether a column that a list doesn't have is refused (161) or ignored.
    var strictColumns = true
    /// Whether a value must fit its column's type (120), and an address be one (1017), or anything is taken.
    var strictColumnTypes = true
    /// Whether a `contactId` that names nobody is written down as an error, or the behaviour's attributes are looked at then.
    var strictContacts = true
    /// Whether a behaviour without a timestamp or core attributes is written down as an error.
    var strictBehaviors = false
    /// The status for behaviours that were taken: 200, 201 or 202.
    var behaviorStatus = 202
    /// How many calls an organization may have under way; one more is refused with 429.
    var concurrency = 10
    /// Milliseconds that each call takes before it is answered.
    var latency = 0
    /// Names of behaviours that are refused with 400, whatever else is in the batch.
    var refusedNames: [String] = []

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func read<Value: Decodable>(_ key: CodingKeys, _ fallback: Value) throws -> Value {
            try values.decodeIfPresent(Value.self, forKey: key) ?? fallback
        }
        tokenLifetime = try read(.tokenLifetime, tokenLifetime)
        reissueWindow = try read(.reissueWindow, reissueWindow)
        tokensPerHour = try values.decodeIfPresent(Int.self, forKey: .tokensPerHour)
        rotatesRefreshTokens = try read(.rotatesRefreshTokens, rotatesRefreshTokens)
        unknownListCode = try read(.unknownListCode, unknownListCode)
        strictColumns = try read(.strictColumns, strictColumns)
        strictColumnTypes = try read(.strictColumnTypes, strictColumnTypes)
        strictContacts = try read(.strictContacts, strictContacts)
        strictBehaviors = try read(.strictBehaviors, strictBehaviors)
        behaviorStatus = try read(.behaviorStatus, behaviorStatus)
        concurrency = try read(.concurrency, concurrency)
        latency = try read(.latency, latency)
        refusedNames = try read(.refusedNames, refusedNames)
    }
}
