@_exported import Foundation

/// The part of the class that the sources use, as UIKit declares it.
@MainActor
open class UIResponder: NSObject {}

/// The part of the class that the sources use, as UIKit declares it.
@MainActor
open class UIView: UIResponder {
    open var isHidden: Bool {
        get { false }
        set {}
    }
    open var isUserInteractionEnabled: Bool {
        get { true }
        set {}
    }
    open func addSubview(_ view: UIView) {}
}

/// The part of the class that the sources use, as UIKit declares it.
@MainActor
open class UIViewController: UIResponder {
    /// Creates a view controller.
    public init(nibName nibNameOrNil: String?, bundle nibBundleOrNil: Bundle?) {}
    /// Creates a view controller from an archive.
    public required init?(coder: NSCoder) { nil }

    open var title: String?
    // As UIKit declares it.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var view: UIView! {
        get { nil }
        set {}
    }
    open var children: [UIViewController] { [] }
    open func addChild(_ childController: UIViewController) {}
    open func didMove(toParent parent: UIViewController?) {}
    open func viewDidAppear(_ animated: Bool) {}
    open func viewWillDisappear(_ animated: Bool) {}
}

/// A class that the sources only name, as UIKit declares it.
@MainActor
open class UITabBarController: UIViewController {}

/// A class that the sources only name, as UIKit declares it.
@MainActor
open class UINavigationController: UIViewController {}

/// A class that the sources only name, as UIKit declares it.
@MainActor
open class UISplitViewController: UIViewController {}

/// A class that the sources only name, as UIKit declares it.
@MainActor
open class UIPageViewController: UIViewController {}

/// The part of the class that the sources use, as UIKit declares it.
@MainActor
open class UIDevice: NSObject {
    open class var current: UIDevice { UIDevice() }
    open var identifierForVendor: UUID? { nil }
}
