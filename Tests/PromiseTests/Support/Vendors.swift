import AdapterKit
import EngageAdapter
import EvergageAdapter
import Experimentation
import ExperimentationTesting
import FlagshipAdapter
import Foundation
import HTTPTypes
import OFREPAdapter
import SigmaAdapter
import Synchronization
import Testing

/// A transport whose answers a test can replace, even while it waits for one.
final class SwitchedTransport: HTTPTransport {
    typealias Answer = @Sendable (ScriptedTransport.Exchange) async -> ScriptedTransport.Answer

    private struct State {
        var answer: Answer
        var exchanges: [ScriptedTransport.Exchange] = []
        var underWay = 0
        var most = 0
    }
    private let state: Mutex<State>

    init(_ answer: @escaping Answer) { state = Mutex(State(answer: answer)) }

    var requests: [ScriptedTransport.Exchange] { state.withLock { $0.exchanges } }
    /// The maximum number of concurrent requests.
    var most: Int { state.withLock { $0.most } }

    func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }
    func answer(_ answer: ScriptedTransport.Answer) { self.answer { _ in answer } }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let exchange = ScriptedTransport.Exchange(request: try request.validated(), body: body, limits: limits)
        let answer = state.withLock { state in
            state.exchanges.append(exchange)
            state.underWay += 1
            state.most = max(state.most, state.underWay)
            return state.answer
        }
        let result = await answer(exchange)
        state.withLock { $0.underWay -= 1 }
        switch result {
        case .reply(let reply): return reply
        case .failure(let error): throw error
        case .silence: throw ExperimentationError(.timeout, "no answer")
        }
    }
}

/// The vendors, Flagship in both modes, with everything that a test needs to run them.
enum Vendor: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case flagshipAsked, flagshipComputed, sigma, engage, evergage, ofrep

    /// The vendors that decide flags.
    static let deciding: [Vendor] = [.flagshipAsked, .flagshipComputed, .sigma, .ofrep]
    /// The vendors that accept events.
    static let tracking: [Vendor] = [.flagshipAsked, .engage, .evergage]

    var testDescription: String { rawValue }

    func provider(
        _ transport: any HTTPTransport,
        secrets: (key: Secret, token: Secret) = ("key-canary", "token-canary")
    ) -> any ExperimentationProvider {
        switch self {
        case .flagshipAsked, .flagshipComputed:
            FlagshipProvider(
                configuration: FlagshipConfiguration(
                    environmentID: "bkk9glocmjcg0vtmdlng",
                    apiKey: secrets.key,
                    mode: self == .flagshipAsked ? .decisionAPI : .bucketing
                ),
                transport: transport
            )
        case .sigma:
            SigmaProvider(
                configuration: SigmaConfiguration(projectToken: secrets.key),
                transport: transport
            )
        case .engage: engage(transport, secrets)
        case .evergage:
            EvergageProvider(configuration: Self.shop, transport: transport)
        case .ofrep:
            OFREPProvider(
                configuration: OFREPConfiguration(
                    baseURL: Endpoint(https: "flags.example.com"),
                    token: secrets.key,
                    headers: ["X-Tenant": secrets.token]
                ),
                transport: transport
            )
        }
    }

    private static let shop: EvergageConfiguration = {
        // Time is stopped, so waiting for the pace of requests would never end.
        do {
            return try EvergageConfiguration(account: "acme", dataset: "shop", pace: nil)
        } catch {
            fatalError("\(error)")
        }
    }()

    private func engage(
        _ transport: any HTTPTransport,
        _ secrets: (key: Secret, token: Secret)
    ) -> EngageProvider {
        var configuration = EngageConfiguration(
            endpoint: Endpoint(https: "example.com"),
            credentials: .init(clientID: "client", clientSecret: secrets.key, refreshToken: secrets.token),
            listID: "1"
        )
        // Time is stopped, so waiting for a token would never end.
        configuration.networking.patience = .zero
        return EngageProvider(configuration: configuration, transport: transport)
    }

    /// An answer with flags `f0`, `f1` …, each of its own campaign or rule, with the version as value.
    func answer(flags count: Int, version: Int = 1) -> String {
        let parts = (0..<count).map { number in
            switch self {
            case .flagshipAsked:
                #"""
                {"id":"c\#(number)","variationGroupId":"g\#(number)","variation":{"id":"v\#(number)","reference":false,
                 "modifications":{"type":"FLAG","value":{"f\#(number)":"v\#(version)"}}}}
                """#
            case .flagshipComputed:
                #"""
                {"id":"c\#(number)","type":"ab","variationGroups":[{"id":"g\#(number)",
                 "targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
                 "variations":[{"id":"v\#(number)","allocation":100,"reference":false,
                 "modifications":{"type":"FLAG","value":{"f\#(number)":"v\#(version)"}}}]}]}
                """#
            case .ofrep:
                #"{"key":"f\#(number)","value":"v\#(version)","variant":"v","reason":"STATIC"}"#
            default:
                #"""
                {"name":"f\#(number)","type":"string","rules":[{"is_default":true,"value":"v\#(version)",
                 "conditional_statement":"-","conditions":[]}]}
                """#
            }
        }.joined(separator: ",")
        return switch self {
        case .flagshipAsked: #"{"visitorId":"ada","campaigns":[\#(parts)]}"#
        case .flagshipComputed: #"{"panic":false,"campaigns":[\#(parts)]}"#
        case .ofrep: #"{"flags":[\#(parts)]}"#
        default: #"{"use_geo":false,"feature_flags":[\#(parts)],"experiments":[]}"#
        }
    }
}

/// Generates the same numbers for the same seed.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// The package's root folder.
let packageRoot = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

extension ClientEnvironment {
    /// An environment with stopped time and no jitter, so that retries need no time.
    static func still(_ time: ManualTime = ManualTime(), log: any LogSink = NoLog()) -> ClientEnvironment {
        ClientEnvironment(time: time, jitter: { 0 }, log: log)
    }
}
