import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: options and names")
struct OptionsTests {
    @Test("options have the original's defaults, except that nothing is reported")
    func defaults() {
        let options = FlagshipOptions()
        #expect(options.mode == .decisionAPI && options.rules == .ios)
        #expect(options.timeout == .milliseconds(2_000) && options.pollingInterval == .seconds(60))
        #expect(options.logLevel == .all && options.onStatusChanged == nil && options.onVisitorExposed == nil)
        #expect(
            options.tracking
                == .init(poolMaxSize: 10, batchInterval: .seconds(5), strategy: .continuousCaching)
        )
        #expect(options.caches.visitors == nil && options.caches.hits == nil)
        #expect(options.caches.visitorLookupTimeout == .milliseconds(200))
        #expect(options.caches.hitLookupTimeout == .milliseconds(200))
        #expect(options.reports == [] && options.endpoints == .vendor && options.device == .current)
    }

    @Test("each option reaches the adapter")
    func options() async throws {
        let bench = try await Bench()
        let device = FlagshipDevice(language: "de", type: "TV", model: "M", osName: "tvOS", osVersion: "1")
        let endpoints = FlagshipConfiguration.Endpoints(
            decision: try Endpoint("http://127.0.0.1:1/v2/"),
            cdn: try Endpoint("http://127.0.0.1:2/"),
            events: try Endpoint("http://127.0.0.1:3/")
        )
        let flagship = await bench.flagship { options in
            options.mode = .bucketing
            options.rules = .server
            options.timeout = .milliseconds(700)
            options.pollingInterval = .seconds(7)
            options.tracking = .init(poolMaxSize: 4, batchInterval: .seconds(9))
            options.onVisitorExposed = { _, _ in }
            options.endpoints = endpoints
            options.device = device
            options.reports = .usage
        }
        let settings = try #require(flagship.service?.configuration)
        #expect(settings.environmentID == Bench.environmentID && settings.apiKey.reveal() == Bench.apiKey)
        #expect(settings.mode == .bucketing && settings.rules == .server && settings.reports == .usage)
        #expect(settings.timeout == .milliseconds(700) && settings.pollingInterval == .seconds(7))
        #expect(settings.poolSize == 4 && settings.batchInterval == .seconds(9) && settings.device == device)
        #expect(settings.onVisitorExposed != nil && settings.retry.attempts == 1)
        #expect(settings.endpoints.decision.port == 1 && settings.endpoints.events.port == 3)
        let batching = try #require(flagship.service?.configuration.batching)
        #expect(batching.count == 4 && batching.largest == 4 && batching.interval == .seconds(9))
        await flagship.close(within: .zero)
    }

    @Test("the level of the options is the level of the log", arguments: [FlagshipLogLevel.none, .warning, .all])
    func logLevel(level: FlagshipLogLevel) async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship { $0.logLevel = level }
        let visitor = await flagship.newVisitor("", hasConsented: true).build()
        visitor.updateContext("list", [1])
        visitor.flag("nobody").visitorExposed()
        let own = Set(bench.log.entries.filter { $0.event.hasPrefix("flagship.") }.map(\.level))
        let all: Set<LogLevel> = [.error, .warning, .info]
        #expect(own == all.filter { level.wants($0) })
    }

    @Test("the builder's last value counts")
    func builder() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .context(["a": 1]).context(["b": 2]).consent(false).authenticated(true).authenticated(false).build()
        #expect(!visitor.hasConsented && !visitor.isAuthenticated && visitor.anonymousID == nil)
        #expect(visitor.context()["a"] == nil && visitor.context()["b"] == 2)
        let member = await flagship.newVisitor("ada", hasConsented: false).consent(true).authenticated(true).build()
        #expect(member.hasConsented && member.isAuthenticated && member.anonymousID != nil)
    }

    @Test("every case of the reference's enumerations exists under its name")
    func names() {
        #expect(
            FlagshipStatus.allCases.map(\.rawValue) == [
                "SDK_NOT_INITIALIZED", "SDK_INITIALIZING", "SDK_INITIALIZED", "SDK_PANIC",
            ]
        )
        #expect(FlagshipFetchStatus.allCases.map(\.rawValue) == ["FETCHED", "FETCHING", "FETCH_REQUIRED", "PANIC"])
        #expect(
            FlagshipFetchReason.allCases.map(\.rawValue) == [
                "VISITOR_CREATE", "UPDATE_CONTEXT", "AUTHENTICATE", "UNAUTHENTICATE", "FETCH_ERROR",
                "FETCHED_FROM_CACHE", "NONE",
            ]
        )
        #expect(FlagshipFlagStatus.allCases.map(\.rawValue) == ["FETCHED", "FETCH_REQUIRED", "NOT_FOUND", "PANIC"])
        #expect(FlagshipHit.Category.allCases.map(\.rawValue) == ["Action Tracking", "User Engagement"])
        #expect(Flagship.Instance.allCases.map(\.rawValue) == ["SHARED_INSTANCE", "NEW_INSTANCE"])
        #expect(
            FlagshipOptions.Tracking.Strategy.allCases.map(\.rawValue) == ["CONTINUOUS_CACHING", "PERIODIC_CACHING"]
        )
        #expect(FlagshipLogLevel.allCases.map(\.rawValue) == Array(0...6))
        #expect(
            FlagshipLogLevel.allCases.map { "\($0)" } == [
                "none", "exceptions", "error", "warning", "debug", "info", "all",
            ]
        )
        #expect(FlagshipLogLevel.none < .all && !(FlagshipLogLevel.info < .debug))
    }

    @Test("each predefined key has the reference's name, and the automatic ones are marked")
    func keys() {
        let names: [FlagshipContextKey: (String, isAutomatic: Bool)] = [
            .firstTimeInit: ("sdk_firstTimeInit", true), .locale: ("sdk_deviceLanguage", true),
            .deviceType: ("sdk_deviceType", true), .deviceModel: ("sdk_deviceModel", true),
            .locationCity: ("sdk_city", false), .locationRegion: ("sdk_region", false),
            .locationCountry: ("sdk_country", false), .locationLatitude: ("sdk_lat", false),
            .locationLongitude: ("sdk_long", false), .ip: ("sdk_ip", false), .osName: ("sdk_osName", true),
            .osVersionName: ("sdk_osVersionName", true), .osVersionCode: ("sdk_osVersionCode", true),
            .carrierName: ("sdk_carrierName", false), .devMode: ("sdk_devMode", false),
            .internetConnection: ("sdk_internetConnection", false), .appVersionName: ("sdk_versionName", false),
            .appVersionCode: ("sdk_versionCode", false), .flagshipVersion: ("sdk_fsVersion", true),
            .interfaceName: ("sdk_interfaceName", false),
        ]
        #expect(names.count == FlagshipContextKey.allCases.count)
        for key in FlagshipContextKey.allCases {
            #expect(key.rawValue == names[key]?.0)
            #expect(key.isAutomatic == names[key]?.isAutomatic)
        }
    }
}
