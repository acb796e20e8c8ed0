import Foundation

/// Issues access tokens by the vendor's rules.
struct EngageTokens: Sendable {
    /// An access token that was issued.
    struct Issued: Sendable, Hashable, Codable {
        var token: String
        var issued: Date
        var expires: Date
        var isRevoked = false
    }

    /// The credentials that are accepted.
    struct Credentials: Sendable, Hashable, Codable {
        var clientID = "client"
        var clientSecret = "secret"
        var refreshToken = "refresh"
    }

    var credentials = Credentials()
    /// The valid refresh tokens; more than one while they rotate.
    private(set) var refreshTokens: Set<String>
    private(set) var issued: [Issued] = []
    private(set) var requests = 0
    private var rotations = 0

    init(credentials: Credentials = Credentials()) {
        self.credentials = credentials
        refreshTokens = [credentials.refreshToken]
    }

    /// Whether a request with this `Authorization` header is accepted.
    func admits(_ authorization: String?, at now: Date) -> Bool {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return false }
        let token = authorization.dropFirst(7).trimmingCharacters(in: .whitespaces)
        return issued.contains { $0.token == token && !$0.isRevoked && now < $0.expires }
    }

    /// Revokes every issued token; the next request gets a new one.
    mutating func expireAll() {
        for index in issued.indices { issued[index].isRevoked = true }
    }

    /// Forgets all issued tokens.
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
        // The vendor reissues the same token for some hours before it creates a new one.
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
            token: Self.numbered(settings.accessTokenPrefix, issued.count + 1),
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

    /// A token of at least seven characters, so that requests have the same size whatever the prefix is.
    private static func numbered(_ prefix: String, _ number: Int) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: max(0, 7 - prefix.count - digits.count)) + digits
    }
}

/// The vendor's behavior where its documentation leaves it open.
struct EngageSettings: Sendable, Hashable, Codable {
    /// The prefix of every access token; a number follows.
    var accessTokenPrefix = "at-"
    /// How long a token is valid, in seconds.
    var tokenLifetime = 14_399.0
    /// How long the same token is reissued, in seconds.
    var reissueWindow = 10_800.0
    /// How many new tokens are issued per hour; `nil` for no limit.
    var tokensPerHour: Int?
    /// Whether each new access token comes with a new refresh token that replaces the old one.
    var rotatesRefreshTokens = false
    /// The fault for a list that doesn't exist: 108, as seen in practice, or 106.
    var unknownListCode = 108
    /// Whether a column that the list doesn't have is rejected (161) or ignored.
    var strictColumns = true
    /// Whether values must fit their column's type (120) and addresses must be valid (1017); otherwise anything is
    /// accepted.
    var strictColumnTypes = true
    /// Whether an unknown `contactId` is recorded as an error; otherwise the recipient is found by the behavior's
    /// attributes.
    var strictContacts = true
    /// Whether a behavior without a timestamp or core attributes is recorded as an error.
    var strictBehaviors = false
    /// The status for accepted behaviors: 200, 201 or 202.
    var behaviorStatus = 202
    /// How many calls an organization may have in flight; further calls get 429.
    var concurrency = 10
    /// The delay before each answer, in milliseconds.
    var latency = 0
    /// Names of behaviors that are rejected with 400, together with their whole batch.
    var refusedNames: [String] = []

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func read<Value: Decodable>(_ key: CodingKeys, _ fallback: Value) throws -> Value {
            try values.decodeIfPresent(Value.self, forKey: key) ?? fallback
        }
        accessTokenPrefix = try read(.accessTokenPrefix, accessTokenPrefix)
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
