// What the report page draws with, and nothing else: points, own shapes, axes, zoom.
import { init, use } from "echarts/core";
import { CustomChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, TooltipComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

use([ScatterChart, CustomChart, GridComponent, TooltipComponent, DataZoomComponent, CanvasRenderer]);
export { init };
