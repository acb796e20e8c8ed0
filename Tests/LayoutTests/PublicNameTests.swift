import Testing

/// In a file that imports the library and a platform framework, no type name may be ambiguous.
@Suite("Public names", .readsThePackage)
struct PublicNameTests {
    /// Names of platform types that could clash with ours, by module.
    static let taken: [String: Set<String>] = [
        "Swift": [
            "Any", "Array", "Bool", "Character", "Collection", "Dictionary", "Double", "Duration", "Error", "Float",
            "Hasher", "Identifiable", "Int", "KeyPath", "Mirror", "Never", "Optional", "Range", "Result", "Sequence",
            "Set", "String", "Substring", "Task", "Unicode", "Clock", "ContinuousClock", "Actor", "Executor",
        ],
        "Foundation": [
            "Bundle", "Calendar", "CharacterSet", "Data", "Date", "DateFormatter", "DateInterval", "Decimal",
            "Dimension",
            "FileHandle", "FileManager", "Formatter", "Host", "HTTPCookie", "HTTPURLResponse", "IndexPath", "IndexSet",
            "InputStream", "JSONDecoder", "JSONEncoder", "JSONSerialization", "Locale", "Lock", "Measurement",
            "Morphology",
            "Notification", "NotificationCenter", "Operation", "OperationQueue", "OutputStream", "Pipe", "Port",
            "Predicate", "Process", "ProcessInfo", "Progress", "RunLoop", "Scanner", "Stream", "Thread", "TimeZone",
            "Timer",
            "TimeInterval", "Unit", "UndoManager", "URL", "URLComponents", "URLRequest", "URLResponse", "URLSession",
            "UserDefaults", "UUID", "XMLParser", "AttributedString", "AttributeContainer", "SortOrder", "Expression",
        ],
        "SwiftUI": [
            "Alert", "Alignment", "Anchor", "Angle", "Animation", "App", "AppStorage", "Axis", "Binding", "Button",
            "Canvas",
            "Capsule", "Circle", "Color", "ColorScheme", "Commands", "Content", "Context", "ControlGroup", "DatePicker",
            "Divider", "Edge", "EditMode", "Ellipse", "Environment", "EnvironmentKey", "EnvironmentObject",
            "EnvironmentValues", "FocusState", "Font", "ForEach", "Form", "Gauge", "Gesture", "GestureState",
            "Gradient",
            "Grid", "Group", "GroupBox", "Image", "Label", "LabelStyle", "Layout", "Link", "List", "Material", "Menu",
            "Namespace",
            "NavigationLink", "NavigationPath", "NavigationStack", "ObservedObject", "Path", "Picker", "Preview",
            "PreviewProvider", "PrimitiveButtonStyle", "ProgressView", "Published", "Rectangle", "Scene",
            "SceneStorage",
            "ScrollView", "Section", "Settings", "Shape", "Slider", "Spacer", "State", "StateObject", "Stepper",
            "TabView",
            "Table", "Text", "TextField", "Toggle", "Transaction", "Transition", "View", "ViewBuilder", "ViewModifier",
            "Visibility", "Window", "WindowGroup", "Query", "Model",
        ],
        "UIKit": ["UIAction", "UIColor", "UIDevice", "UIImage", "UIScene", "UIView", "UIViewController", "UIWindow"],
        "Combine": [
            "AnyCancellable", "AnyPublisher", "Cancellable", "Future", "Just", "Publisher", "Publishers", "Record",
            "Scheduler",
            "Subject", "Subscriber", "Subscribers", "Subscription",
        ],
        "Observation": ["Observable", "ObservationRegistrar", "ObservationTracking", "Observations"],
        "OSLog": ["Logger", "OSLog", "OSLogEntry", "OSLogStore", "OSLogType", "OSSignposter"],
        "Testing": [
            "Attachment", "Bug", "Comment", "Confirmation", "CustomTestStringConvertible", "Issue", "KnownIssueScope",
            "SourceLocation", "Suite", "Tag", "Test", "TestScoping", "TestTrait", "Trait",
        ],
    ]

    private static let folders =
        [
            "Sources/Experimentation", "Sources/AdapterKit", "Sources/ExperimentationSQLite",
            "Sources/ExperimentationTesting", "Sources/ExperimentationTelemetry", "Sources/ExperimentationComposition",
        ]
        + ["Sources/VendorCatalog", "Adapters"]

    @Test("no public type has the name of a platform type", arguments: taken.keys.sorted())
    func isFree(module: String) throws {
        let declaration = try SwiftText.pattern(
            #"(?m)^(?:@\w+\s+)*public\s+(?:final\s+|indirect\s+)*(?:class|struct|enum|actor|protocol|typealias)\s+([A-Z]\w*)"#
        )
        let names = Self.folders.flatMap { Tree.files(in: $0) }.flatMap { source in
            source.code.matches(of: declaration).compactMap { $0.output[1].substring.map(String.init) }
        }
        #expect(names.count > 100)
        let taken = try #require(Self.taken[module])
        #expect(names.filter { taken.contains($0) } == [])
    }
}
