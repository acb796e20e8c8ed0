import AdapterKit
import Testing

@Suite("Starts of an application")
struct ApplicationLaunchTests {
    @Test(
        "a start is the first one, that of a new version, or another",
        arguments: [
            ("2", nil, .install, "2"), (nil, nil, .install, ""), ("2", "1", .upgrade, "2"), ("2", "2", .another, nil),
            ("2", "", .another, "2"), (nil, "1", .another, nil), (nil, "", .another, nil),
        ] as [(String?, String?, ApplicationLaunch.Kind, String?)]
    )
    func kinds(version: String?, stored: String?, kind: ApplicationLaunch.Kind, toStore: String?) {
        let launch = ApplicationLaunch(of: version, after: stored)
        #expect(launch.kind == kind)
        #expect(launch.versionToStore == toStore)
    }
}
