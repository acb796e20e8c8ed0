import Experimentation
import ExperimentationTesting
import Testing

@testable import EvergageAdapter

@Suite("Defaults of the vendor's SDK")
@MainActor
struct DefaultTests {
    @Test(
        "every default is the reference's or, where it has none, the fact sheet's"
    )
    func settings() throws {
        let configuration = try EvergageConfiguration(account: "acme.us-1", dataset: "engage")
        let remote = EvergageRemoteConfiguration()
        let evergage = Evergage(store: .inMemory())
        let found: [String: String] = [
            "server": "\(configuration.endpoint)", "channel": configuration.channel,
            "locale": "\(configuration.locale ?? "none")",
            "usePushNotifications": "\(configuration.usePushNotifications)",
            "useDesignMode": "\(configuration.useDesignMode)",
            "usesRemoteConfiguration": "\(configuration.usesRemoteConfiguration)",
            "request timeout": "\(configuration.timeout)", "campaign-eligible age": "\(configuration.campaignAge)",
            "queue age": "\(configuration.maximumAge)",
            "pace": "\(configuration.pace.map { "\($0.requests) per \($0.interval)" } ?? "none")",
            "enabled": "\(remote.isEnabled)", "configuration's life": "\(remote.lifetime)",
            "user idle after": "\(remote.userIdle)", "view-time ping": "\(remote.viewTimePing)",
            "minimum view-time ping": "\(EvergageRemoteConfiguration.portions.lowerBound)",
            "screen must be visible within": "\(remote.screenVisibleDeadline)",
            "pre-start policy": "\(evergage.preStartPolicy)",
            "lifecycle events": "\(evergage.sendsLifecycleEvents)",
            "quantity of a line": "\(EvergageLineItem(item: .p).quantity.map { "\($0)" } ?? "none")",
            "user": "\(evergage.userID ?? "none")", "account id": "\(evergage.accountID ?? "none")",
            "started": "\(evergage.client != nil)",
        ]
        #expect(
            found == [
                "server": "https://acme.us-1.evergage.com", "channel": "MobileApp", "locale": "none",
                "usePushNotifications": "false", "useDesignMode": "false", "usesRemoteConfiguration": "false",
                "request timeout": "15.0 seconds", "campaign-eligible age": "60.0 seconds",
                "queue age": "604800.0 seconds", "pace": "10 per 5.0 seconds", "enabled": "true",
                "configuration's life": "3600.0 seconds", "user idle after": "60.0 seconds",
                "view-time ping": "60.0 seconds", "minimum view-time ping": "2.0 seconds",
                "screen must be visible within": "30.0 seconds", "pre-start policy": "queue",
                "lifecycle events": "true", "quantity of a line": "none", "user": "none", "account id": "none",
                "started": "false",
            ]
        )
    }
}
